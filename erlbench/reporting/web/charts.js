// Curves and worker timelines, drawn by Plotly when they come into view. A chart is a figure's data: its panels.
// ---- what the switches say
const state = { x: "", band: "auto", single: false }; // x "": over each figure's own axis

const layout = (more) => ({
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: css("--front"), size: 12 },
    margin: { l: 62, r: 16, t: 14, b: 46 },
    hoverlabel: { namelength: -1, bgcolor: css("--panel"), font: { color: css("--front") } },
    legend: { orientation: "h", yref: "container", y: 0, yanchor: "bottom" },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: css("--soft"), activecolor: css("--link") },
    dragmode: matchMedia("(hover: hover)").matches ? "zoom" : false,
    ...more,
});
const axis = (title, more = {}) => ({
    title: { text: title },
    gridcolor: css("--line"),
    zerolinecolor: css("--line"),
    linecolor: css("--soft"),
    automargin: true,
    ...more,
});
const note = (text, more) => ({ text, showarrow: false, xref: "paper", ...more });
// Nothing leaves the page: without the first two, a button would send a chart to Plotly's server.
const CONFIG = {
    showSendToCloud: false,
    plotlyServerURL: "",
    displaylogo: false,
    responsive: true,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    displayModeBar: matchMedia("(hover: hover)").matches ? "hover" : false,
};

// ---- series of points
const panelOf = (chart) => chart.panels[chart.kind === "curves" && state.x ? state.x : chart.first];
const bandOf = (chart, { bands = {} }) => {
    const band = bands.always || bands[state.band === "auto" ? chart.band : state.band]; // none has no entry
    return band && band.map(list);
};
// A legend's text in lines that fit: Plotly cuts off what is wider than the chart.
const MARK = 110, // pixels beside a text of the legend
    LETTER = 7; // and of a letter, about
function wrapped(text, width) {
    const most = Math.max(16, Math.floor((width - MARK) / LETTER)),
        rows = [""];
    for (const word of text.split(/(?<=[ ,@-])/)) {
        if (rows.at(-1) && rows.at(-1).length + word.trimEnd().length > most) rows.push("");
        rows[rows.length - 1] += word;
    }
    return rows.join("<br>");
}
function tracesOf(chart, panel, series, width) {
    const traces = [],
        tint = colour(series.colour),
        band = bandOf(chart, series),
        x = list(series.x),
        common = { legendgroup: series.group, hovertemplate: panel.shares ? "%{y:.1%}" : "%{y:,.4~g}" };
    if (band) {
        const edge = { x, mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false };
        traces.push(
            { ...edge, y: band[0], legendgroup: series.group },
            { ...edge, y: band[1], legendgroup: series.group, fill: "tonexty", fillcolor: faded(tint, series.fade) },
        );
    }
    if (series.runs && (state.single || series.averaged === 1)) {
        const [names, xs, ys] = series.runs.map(list);
        names.forEach((name, i) =>
            traces.push({
                ...common,
                x: list(xs[i]),
                y: list(ys[i]),
                mode: "lines",
                line: { width: PIXELS * DATA.palette.single, color: tint },
                opacity: 0.55,
                showlegend: false,
                name: `${series.group}, ${name}`,
            }),
        );
    }
    traces.push({
        ...common,
        x,
        y: list(series.y),
        mode: series.symbol ? "lines+markers" : x.length === 1 ? "markers" : "lines",
        line: { width: PIXELS * series.width, color: tint, dash: series.dash },
        marker: { color: tint, size: 7, symbol: series.symbol, maxdisplayed: series.every ? 0 : DATA.palette.markers },
        name: wrapped(series.label, width),
        showlegend: true, // of a single curve, too: it may be one of a run that is not finished
    });
    return traces;
}
function lines(chart, width) {
    const panel = panelOf(chart) || { series: [] };
    const missing = `No run of this figure counts ${state.x && DATA.axes[state.x].label.toLowerCase()}.`;
    return [
        panel.series.flatMap((series) => tracesOf(chart, panel, series, width)),
        layout({
            height: 400 + 9 * panel.series.length,
            hovermode: "x unified",
            hoverdistance: -1, // markers would have to be near
            shapes: panel.series
                .filter((series) => series.level !== undefined)
                .map(({ level, colour: number }) => ({
                    type: "line",
                    xref: "paper",
                    x0: 0,
                    x1: 1,
                    y0: level,
                    y1: level,
                    line: { dash: "dot", width: PIXELS, color: colour(number) },
                })),
            xaxis: axis(panel.x, { rangemode: "tozero" }),
            yaxis: axis(panel.y, panel.shares ? { range: [-0.02, 1.02], tickformat: ".0%" } : {}),
            annotations: panel.series.length ? [] : [note(missing, { yref: "paper", x: 0.5, y: 0.5 })],
        }),
    ];
}
function lineRows(chart) {
    const panel = panelOf(chart) || { series: [] },
        bands = panel.series.some((series) => series.bands),
        rows = [["Algorithm", panel.x, panel.y, ...(bands ? ["Band, low", "Band, high"] : [])]];
    for (const series of panel.series) {
        const [x, y] = [list(series.x), list(series.y)],
            band = bandOf(chart, series) || [[], []],
            every = series.every ? 1 : Math.max(1, Math.ceil(x.length / 10));
        for (let i = Math.max(0, x.length - 1) % every; i < x.length; i += every)
            rows.push([series.label, ...[x, y, ...(bands ? band : [])].map((values) => number(values[i]))]);
    }
    return rows;
}

// ---- worker timelines: one row per process, all runs below each other
function timeline(chart) {
    const ticks = [],
        texts = [],
        traces = [],
        annotations = [],
        shown = new Set(),
        panels = Object.values(chart.panels);
    let top = 0;
    for (const panel of panels) {
        const title = `<b>${panel.title.replace(/[<>&]/g, " ")}</b>`;
        annotations.push(note(title, { x: 0, xanchor: "left", y: top + 0.2, yanchor: "middle" }));
        panel.rows.forEach(([name, busy], row) => {
            ticks.push(top + 1 + row);
            texts.push(`${name}  ${Math.round(100 * busy)} %`);
        });
        for (const { label, colour: number, row, start, length, share } of panel.bars || []) {
            traces.push({
                type: "bar",
                orientation: "h",
                y: row.map((one) => one + top + 1),
                base: start,
                x: length,
                width: share.map((one) => 0.8 * one),
                marker: { color: colour(number), line: { width: 0.3, color: css("--back") } },
                name: label,
                legendgroup: label,
                showlegend: !shown.has(label),
                customdata: row.map((_, i) => [start[i] + length[i], Math.round(100 * share[i])]),
                hovertemplate: `${label}<br>%{base:.3f} s to %{customdata[0]:.3f} s<br>%{customdata[1]} % busy<extra></extra>`,
            });
            shown.add(label);
        }
        top += panel.rows.length + 1.6;
    }
    const yaxis = { range: [top - 0.6, -0.4], tickvals: ticks, ticktext: texts, showgrid: false, zeroline: false };
    return [
        traces,
        layout({
            height: 130 + 24 * top,
            barmode: "overlay",
            annotations,
            xaxis: axis(panels[0].x),
            hovermode: "closest",
            yaxis: axis("", yaxis),
        }),
    ];
}
const timelineRows = (chart) => [
    ["Run", "Process", "Busy"],
    ...Object.values(chart.panels).flatMap((panel) =>
        panel.rows.map(([name, busy]) => [panel.title, name, `${Math.round(100 * busy)} %`]),
    ),
];

const drawn = new Set();
function draw(place) {
    const chart = DATA.charts[place.closest("figure").id],
        [traces, how] = chart.kind === "timeline" ? timeline(chart) : lines(chart, place.clientWidth);
    place.style.minHeight = "0"; // it kept the place; a timeline may be lower
    Plotly.react(place, traces, how, CONFIG);
    // Plotly measures texts in an element far outside the page, which a screen reader would meet as an image.
    document.getElementById("js-plotly-tester")?.setAttribute("aria-hidden", "true");
    drawn.add(place);
    const details = place.parentElement.querySelector("details.values");
    if (details.open) fill(details);
}
function fill(details) {
    const chart = DATA.charts[details.closest("figure").id],
        rows = chart.kind === "timeline" ? timelineRows(chart) : lineRows(chart),
        table = make("table");
    rows.forEach((row, i) => {
        const line = table.insertRow();
        row.forEach((text) => {
            const cell = make(i ? "td" : "th", text);
            if (!i) cell.scope = "col";
            line.append(cell);
        });
    });
    const scroll = make("div", "", { className: "scroll", tabIndex: 0 });
    scroll.append(table);
    details.replaceChildren(details.firstElementChild, scroll);
}
const redraw = (kind) =>
    drawn.forEach((place) => {
        if (!kind || place.closest("figure").dataset.kind === kind) draw(place);
    });
const observer = new IntersectionObserver(
    (entries) =>
        entries.forEach((entry) => {
            if (entry.isIntersecting) {
                observer.unobserve(entry.target);
                draw(entry.target);
            }
        }),
    { rootMargin: "300px" },
);
all(".chart").forEach((place) => observer.observe(place));
all("details.values").forEach((details) => details.addEventListener("toggle", () => details.open && fill(details)));
