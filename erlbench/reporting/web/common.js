// Data, helpers and the theme, for charts.js and page.js: the three are one script of the page.
const DATA = JSON.parse(document.getElementById("data").textContent);
const LIGHT = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31"];
const DARK = ["#4DA8E0", "#FF8A3D", "#2FC79A", "#E5A3C8", "#F2B632", "#8FD0F5", "#E6EAEF", "#C9A565"];
const DASHES = ["solid", "dash", "dot", "dashdot", "longdash"];
const UNITS = [
    ["seconds", 1],
    ["minutes", 60],
    ["hours", 3600],
    ["days", 86400],
];
// Lists of numbers stand in DATA.arrays, wherever the data have an index.
const list = (index) => DATA.arrays[index];
for (const run of DATA.runs) for (const name in run.axes) run.axes[name] = run.axes[name].map(list);
for (const curve of DATA.curves)
    for (const name in curve.axes) {
        const { runs, x, mean, range, interval } = curve.axes[name];
        curve.axes[name] = {
            runs,
            x: list(x),
            mean: list(mean),
            range: range.map(list),
            interval: interval && interval.map(list),
        };
    }
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
const colour = (index) => (dark() ? DARK : LIGHT)[index % LIGHT.length];
const dash = (index) => DASHES[Math.floor(index / LIGHT.length) % DASHES.length];
const themed = (value) => {
    const i = LIGHT.indexOf(value);
    return i >= 0 ? colour(i) : value;
};
const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
const faded = (hex, alpha) => `rgba(${[1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)).join(",")},${alpha})`;
