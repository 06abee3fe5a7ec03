// Data, helpers and the theme, for charts.js and page.js: the three are one script of the page.
const DATA = JSON.parse(document.getElementById("data").textContent);
const PIXELS = 1.5; // of a point of a line on paper
const list = (index) => DATA.lists[index]; // lists stand once; charts name them by their index
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const make = (tag, text = "", attributes = {}) =>
    Object.assign(document.createElement(tag), { textContent: text }, attributes);
const number = (value) =>
    value === undefined || value === null ? "–" : Number(value.toPrecision(4)).toLocaleString("en");

// ---- theme
const root = document.documentElement;
const wanted = () => {
    try {
        return localStorage.getItem("erlbench-theme");
    } catch {
        return null;
    }
};
const dark = () => root.dataset.theme === "dark";
root.dataset.theme = wanted() || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try {
        localStorage.setItem("erlbench-theme", root.dataset.theme);
    } catch {
        /* a page from disk may have no storage */
    }
    redraw();
});
const colour = (number) => {
    const palette = DATA.palette[dark() ? "dark" : "light"]; // a style file may name a colour in place of a number
    return number < 0 ? css("--soft") : typeof number === "string" ? number : palette[number % palette.length];
};
const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
const faded = (hex, alpha) => `rgba(${[1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)).join(",")},${alpha})`;
