// Curves and worker timelines, drawn by Plotly when they come into view. A chart is a drawing's data: its panels.
const state = { x: "", band: "auto", single: false }; // what the switches say; x "": over each figure's own axis
const hovers = matchMedia("(hover: hover)").matches;
// Nothing leaves the page: without the first two, a button would send a chart to Plotly's server.
const CONFIG = {
    showSendToCloud: false,
    plotlyServerURL: "",
    displaylogo: false,
    responsive: true,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    displayModeBar: hovers && "hover",
};
const layout = (more) => ({
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: css("--front"), size: 12 },
    margin: { l: 62, r: 16, t: 14, b: 46 },
    hoverlabel: { namelength: -1, bgcolor: css("--panel"), font: { color: css("--front") } },
    legend: { orientation: "h", yref: "container", y: 0, yanchor: "bottom" },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: css("--soft"), activecolor: css("--link") },
    dragmode: hovers && "zoom",
    ...more,
});
const axis = (text, more) => {
    const line = css("--line");
    return { title: { text }, gridcolor: line, zerolinecolor: line, linecolor: css("--soft"), automargin: true, ...more };
};
const note = (text, more) => ({ text, showarrow: false, xref: "paper", ...more });
const chartOf = (element) => DATA.charts[element.closest("figure").id];
const percent = (share) => `${Math.round(100 * share)} %`;

// ---- curves
const panelOf = (chart) => chart.panels[chart.kind === "curves" && state.x ? state.x : chart.first] || { series: [] };
const bandOf = (series) => state.band !== "none" && series.band?.map(list);
// A legend's text in lines that fit: Plotly cuts off what is wider than the chart.
function wrapped(text, width) {
    const most = Math.max(16, Math.floor((width - 110) / 7)), // pixels: a mark beside the text, and a letter
        rows = [""];
    for (const word of text.split(/(?<=[ ,@-])/)) {
        if (rows.at(-1) && rows.at(-1).length + word.trimEnd().length > most) rows.push("");
        rows[rows.length - 1] += word;
    }
    return rows.join("<br>");
}
function tracesOf(series, width) {
    const color = colour(series.colour),
        x = list(series.x),
        common = { legendgroup: series.group, hovertemplate: "%{y:,.4~g}" },
        edge = { x, mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false, legendgroup: series.group },
        [low, high] = bandOf(series) || [],
        [names, xs, ys] = series.runs && (state.single || series.averaged === 1) ? series.runs.map(list) : [[]];
    return [
        ...(low ? [{ ...edge, y: low }, { ...edge, y: high, fill: "tonexty", fillcolor: faded(color, series.fade) }] : []),
        ...names.map((name, i) => ({
            ...common,
            x: list(xs[i]),
            y: list(ys[i]),
            mode: "lines",
            line: { width: PIXELS * DATA.palette.single, color },
            opacity: 0.55,
            showlegend: false,
            name: `${series.group}, ${name}`,
        })),
        {
            ...common,
            x,
            y: list(series.y),
            mode: series.symbol ? "lines+markers" : x.length === 1 ? "markers" : "lines",
            line: { width: PIXELS * series.width, color, dash: series.dash },
            marker: { color, size: 7, symbol: series.symbol, maxdisplayed: series.every ? 0 : DATA.palette.markers },
            name: wrapped(series.label, width),
            showlegend: true, // of a single curve, too: it may be one of a run that is not finished
        },
    ];
}
function lines(chart, width) {
    const panel = panelOf(chart),
        missing = `No run of this figure counts ${state.x && DATA.axes[state.x].label.toLowerCase()}.`,
        levels = panel.series.filter((series) => series.level !== undefined);
    return [
        panel.series.flatMap((series) => tracesOf(series, width)),
        layout({
            height: 400 + 9 * panel.series.length,
            hovermode: "x unified",
            hoverdistance: -1, // markers would have to be near
            shapes: levels.map(({ level, colour: number }) => {
                const line = { dash: "dot", width: PIXELS, color: colour(number) };
                return { type: "line", xref: "paper", x0: 0, x1: 1, y0: level, y1: level, line };
            }),
            xaxis: axis(panel.x, { rangemode: "tozero" }),
            yaxis: axis(panel.y),
            annotations: panel.series.length ? [] : [note(missing, { yref: "paper", x: 0.5, y: 0.5 })],
        }),
    ];
}
function lineRows(chart) {
    const panel = panelOf(chart),
        banded = panel.series.some((series) => series.band),
        rows = [["Algorithm", panel.x, panel.y, ...(banded ? ["Band, low", "Band, high"] : [])]];
    for (const series of panel.series) {
        const columns = [list(series.x), list(series.y), ...(banded ? bandOf(series) || [[], []] : [])],
            last = columns[0].length - 1,
            every = series.every ? 1 : Math.max(1, Math.ceil((last + 1) / 10));
        for (let i = Math.max(0, last) % every; i <= last; i += every)
            rows.push([series.label, ...columns.map((values) => number(values[i]))]);
    }
    return rows;
}

// ---- worker timelines: one row per process, all runs below each other
function timeline(chart) {
    const [ticktext, tickvals, traces, annotations] = [[], [], [], []];
    let top = 0;
    for (const panel of Object.values(chart.panels)) {
        const title = `<b>${panel.title.replace(/[<>&]/g, " ")}</b>`;
        annotations.push(note(title, { x: 0, xanchor: "left", y: top + 0.2, yanchor: "middle" }));
        panel.rows.forEach(([name, busy], row) => {
            tickvals.push(top + 1 + row);
            ticktext.push(`${name}  ${percent(busy)}`);
        });
        for (const { label, colour: number, row, start, length, share } of panel.bars)
            traces.push({
                type: "bar",
                orientation: "h",
                y: row.map((place) => place + top + 1),
                base: start,
                x: length,
                width: share.map((value) => 0.8 * value),
                marker: { color: colour(number), line: { width: 0.3, color: css("--back") } },
                name: label,
                legendgroup: label,
                showlegend: !traces.some((trace) => trace.name === label),
                customdata: row.map((_, i) => [start[i] + length[i], percent(share[i])]),
                hovertemplate: `${label}<br>%{base:.3f} s to %{customdata[0]:.3f} s<br>%{customdata[1]} busy<extra></extra>`,
            });
        top += panel.rows.length + 1.6;
    }
    const yaxis = axis("", { range: [top - 0.6, -0.4], tickvals, ticktext, showgrid: false, zeroline: false }),
        xaxis = axis(chart.panels[chart.first].x);
    return [traces, layout({ height: 130 + 24 * top, barmode: "overlay", hovermode: "closest", annotations, xaxis, yaxis })];
}
const timelineRows = (chart) => [
    ["Run", "Process", "Busy"],
    ...Object.values(chart.panels).flatMap(({ title, rows }) => rows.map(([name, busy]) => [title, name, percent(busy)])),
];

// ---- when they are drawn, and their values as tables
const drawn = new Set();
function draw(place) {
    const chart = chartOf(place),
        details = place.parentElement.querySelector("details.values");
    place.style.minHeight = "0"; // it kept the place; a timeline may be lower
    Plotly.react(place, ...(chart.kind === "timeline" ? timeline(chart) : lines(chart, place.clientWidth)), CONFIG);
    // Plotly measures texts in an element far outside the page, which a screen reader would meet as an image.
    document.getElementById("js-plotly-tester")?.setAttribute("aria-hidden", "true");
    drawn.add(place);
    if (details.open) fill(details);
}
function fill(details) {
    const chart = chartOf(details),
        rows = chart.kind === "timeline" ? timelineRows(chart) : lineRows(chart),
        table = make("table"),
        scroll = make("div", "", { className: "scroll", tabIndex: 0 });
    rows.forEach((row, i) =>
        table.insertRow().append(...row.map((text) => (i ? make("td", text) : make("th", text, { scope: "col" })))),
    );
    scroll.append(table);
    details.replaceChildren(details.firstElementChild, scroll);
}
const redraw = (kind) => drawn.forEach((place) => (kind && chartOf(place).kind !== kind ? 0 : draw(place)));
const observer = new IntersectionObserver(
    (entries) =>
        entries.filter((entry) => entry.isIntersecting).forEach(({ target }) => {
            observer.unobserve(target);
            draw(target);
        }),
    { rootMargin: "300px" },
);
all(".chart").forEach((place) => observer.observe(place));
addEventListener("beforeprint", () => all(".chart").forEach(draw)); // paper shows all sections
all("details.values").forEach((details) => details.addEventListener("toggle", () => details.open && fill(details)));
