// The switches of the curves, sorting and filtering of tables, definitions, one section at a time.
// ---- the switches, one set in each section with curves
const watch = (input, property) =>
    input.addEventListener("change", () => {
        all(`[name="${input.name}"]`).forEach((other) => {
            other[property] = input[property];
        });
        state[input.name] = input[property];
        redraw("curves");
    });
all("main > section")
    .filter((section) => section.querySelector('figure[data-kind="curves"]'))
    .forEach((section) => {
        const bar = section.insertBefore(
            make("div", "", { className: "toolbar" }),
            section.querySelector("h2").nextSibling,
        );
        const choice = (label, name, options) => {
            const box = make("label", `${label} `),
                select = make("select", "", { name });
            options.forEach(([value, text, title]) =>
                select.append(make("option", text, { value, title: title || "" })),
            );
            select.value = state[name];
            watch(select, "value");
            box.append(select);
            bar.append(box);
        };
        choice(
            "Curves over",
            "x",
            [
                ["", "each figure's own axis"],
                ...Object.entries(DATA.axes).map(([name, one]) => [name, one.label, one.note]),
            ],
        );
        choice("Band", "band", [
            ["auto", "each figure's own"],
            ["none", "none"],
        ]);
        const box = make("label"),
            tick = make("input", "", { type: "checkbox", name: "single" });
        watch(tick, "checked");
        const share = DATA.share < 1 ? ` (${Math.round(100 * DATA.share)} % of them)` : "";
        box.append(tick, ` Single runs${share}`);
        bar.append(box);
    });

// ---- tables
const keyOf = (cell) => (cell.dataset.value !== undefined ? Number(cell.dataset.value) : cell.textContent.trim());
function sort(head) {
    const table = head.closest("table"),
        column = [...head.parentElement.children].indexOf(head),
        body = table.tBodies[0];
    const up = head.getAttribute("aria-sort") !== "ascending";
    all("th", table.tHead).forEach((other) => other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const rows = [...body.rows].map((row) => [keyOf(row.cells[column]), row]);
    const missing = (key) => key === "–" || key === "";
    rows.sort(([a], [b]) => {
        if (missing(a) || missing(b)) return missing(a) - missing(b); // no value comes last, either way
        const order =
            typeof a === "number" && typeof b === "number"
                ? a - b
                : String(a).localeCompare(String(b), "en", { numeric: true });
        return up ? order : -order;
    });
    body.append(...rows.map(([, row]) => row));
}
all("button.sort").forEach((button) => button.addEventListener("click", () => sort(button.closest("th"))));
all("input.filter").forEach((input) =>
    input.addEventListener("input", () => {
        const section = input.closest("section.table"),
            words = input.value.toLowerCase().split(/\s+/).filter(Boolean),
            rows = all("tbody tr", section);
        rows.forEach((row) => {
            row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
        });
        section.querySelector(".found").textContent = words.length
            ? `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`
            : "";
    }),
);

// ---- definitions
const tip = document.body.appendChild(make("div", "", { id: "tip", hidden: true }));
const show = (button) => {
    tip.textContent = document.getElementById(button.dataset.note).textContent;
    tip.hidden = false;
    const box = button.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(box.left, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${box.bottom + 6 + tip.offsetHeight > innerHeight ? box.top - tip.offsetHeight - 6 : box.bottom + 6}px`;
};
const hide = () => {
    tip.hidden = true;
};
all("[data-note]").forEach((button) => {
    ["mouseenter", "focus"].forEach((event) => button.addEventListener(event, () => show(button)));
    ["mouseleave", "blur"].forEach((event) => button.addEventListener(event, hide));
});
document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
});

// ---- one section at a time
function go() {
    const sections = all("main > section"),
        first = document.getElementById(document.getElementById("main").dataset.first),
        target = document.getElementById(decodeURIComponent(location.hash.slice(1))) || first;
    const section = target.closest("main > section") || document.querySelector("main > section");
    all("main > section").forEach((one) => one.classList.toggle("shown", one === section));
    all("nav a").forEach((link) =>
        link.hash === `#${section.id}`
            ? link.setAttribute("aria-current", "page")
            : link.removeAttribute("aria-current"),
    );
    for (let box = target.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    if (target !== section) target.scrollIntoView();
    else scrollTo(0, 0);
}
root.classList.remove("plain");
addEventListener("hashchange", go);
go();
