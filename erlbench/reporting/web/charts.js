// Learning curves, performance profiles and worker timelines, drawn by Plotly when they come into view.
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
// Nothing leaves the page: without the first two, a button would send a chart to Plotly's server.
const CONFIG = {
    showSendToCloud: false,
    plotlyServerURL: "",
    displaylogo: false,
    responsive: true,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    displayModeBar: matchMedia("(hover: hover)").matches ? "hover" : false,
};

// ---- learning curves
const unitOf = (name, largest) => {
    if (!DATA.axes[name].seconds) return [DATA.axes[name].label, 1];
    const [unit, scale] = UNITS.filter((one) => largest >= 2 * one[1]).pop() || UNITS[0];
    return [`${DATA.axes[name].label} (${unit})`, scale];
};
const axisOf = (chart) => state.x || chart.x;
const meanOf = (runSet, x) => {
    if (runSet.curve !== null) return DATA.curves[runSet.curve].axes[x];
    const points = DATA.runs[runSet.only].axes[x];
    return points && { x: points[0], mean: points[1] };
};
const bandOf = (chart, line) => line[state.band === "auto" ? chart.band : state.band]; // none has no entry
function curves(chart) {
    const over = axisOf(chart);
    const found = chart.runSets.map((runSet) => [runSet, meanOf(runSet, over)]).filter(([, line]) => line);
    const largest = Math.max(
        0,
        ...chart.runSets
            .flatMap((runSet) => runSet.runs.map((i) => DATA.runs[i].axes[over]))
            .filter((points) => points)
            .map(([x]) => x[x.length - 1]),
    );
    const [title, scale] = unitOf(over, largest);
    const scaled = (x) => x.map((value) => value / scale);
    const traces = [];
    for (const [runSet, line] of found) {
        const tint = colour(runSet.colour),
            band = bandOf(chart, line),
            group = runSet.name;
        if (band) {
            const edge = {
                x: scaled(line.x),
                mode: "lines",
                line: { width: 0 },
                hoverinfo: "skip",
                showlegend: false,
                legendgroup: group,
            };
            traces.push(
                { ...edge, y: band[0] },
                { ...edge, y: band[1], fill: "tonexty", fillcolor: faded(tint, 0.18) },
            );
        }
        if (state.single || runSet.curve === null) {
            for (const index of runSet.runs.filter((one) => one !== runSet.only)) {
                const run = DATA.runs[index],
                    points = run.axes[over];
                if (points)
                    traces.push({
                        x: scaled(points[0]),
                        y: points[1],
                        mode: "lines",
                        line: { width: 0.9, color: tint },
                        opacity: 0.55,
                        showlegend: false,
                        legendgroup: group,
                        name: `${runSet.label}, seed ${run.seed}${run.status === "done" ? "" : ` (${run.status})`}`,
                        hovertemplate: "%{y:,.4~g}",
                    });
            }
        }
        const runs = runSet.curve === null ? 1 : line.runs;
        traces.push({
            x: scaled(line.x),
            y: line.mean,
            mode: line.x.length === 1 ? "markers" : "lines",
            legendgroup: group,
            line: { width: 2.2, color: tint, dash: dash(runSet.colour) },
            marker: { color: tint, size: 7 },
            name: `${runSet.label} (${runs} run${runs > 1 ? "s" : ""})`,
            hovertemplate: "%{y:,.4~g}",
        });
    }
    for (const other of over === "timesteps" ? chart.others : []) {
        // other people's runs know only their steps
        const [x, mean, low, high] = other.line.map(list),
            index = chart.runSets.find((runSet) => runSet.name === other.name).colour;
        const edge = {
            x,
            mode: "lines",
            line: { width: 0 },
            hoverinfo: "skip",
            showlegend: false,
            legendgroup: other.label,
        };
        traces.push(
            { ...edge, y: low },
            { ...edge, y: high, fill: "tonexty", fillcolor: faded(colour(index), 0.08) },
            {
                x,
                y: mean,
                mode: "lines",
                name: other.label,
                legendgroup: other.label,
                line: { width: 1.2, color: colour(index), dash: "dashdot" },
                hovertemplate: "%{y:,.4~g}",
            },
        );
    }
    for (const one of over === "timesteps" ? chart.points : [])
        traces.push({
            x: one.x,
            y: one.y,
            mode: "lines+markers",
            name: one.label,
            line: { width: 1, color: css("--soft"), dash: "dot" },
            marker: { size: 7, color: css("--soft"), symbol: one.symbol },
            hovertemplate: "%{y:,.4~g}",
        });
    const shapes = found.flatMap(([runSet]) =>
        chart.published
            .filter(([name]) => name === runSet.name)
            .map(([, value]) => ({
                type: "line",
                xref: "paper",
                x0: 0,
                x1: 1,
                y0: value,
                y1: value,
                line: { dash: "dot", width: 1.4, color: colour(runSet.colour) },
            })),
    );
    return [
        traces,
        layout({
            height: 400 + 9 * found.length,
            hovermode: "x unified",
            shapes,
            xaxis: axis(title, { rangemode: "tozero" }),
            yaxis: axis("Evaluation return"),
            annotations: found.length
                ? []
                : [
                      {
                          text: `No run of this figure counts ${DATA.axes[over].label.toLowerCase()}.`,
                          showarrow: false,
                          xref: "paper",
                          yref: "paper",
                          x: 0.5,
                          y: 0.5,
                      },
                  ],
        }),
    ];
}
function curveRows(chart) {
    const over = axisOf(chart);
    const rows = [
        [
            "Algorithm",
            DATA.axes[over].label + (DATA.axes[over].seconds ? " (seconds)" : ""),
            "Mean return",
            "Band, low",
            "Band, high",
        ],
    ];
    for (const one of over === "timesteps" ? chart.points : [])
        one.x.forEach((x, i) => rows.push([one.label, number(x), number(one.y[i]), "–", "–"]));
    for (const runSet of chart.runSets) {
        const line = meanOf(runSet, over);
        if (!line) continue;
        const band = bandOf(chart, line),
            every = Math.max(1, Math.ceil(line.x.length / 10));
        for (let i = (line.x.length - 1) % every; i < line.x.length; i += every)
            rows.push([
                runSet.label,
                number(line.x[i]),
                number(line.mean[i]),
                band ? number(band[0][i]) : "–",
                band ? number(band[1][i]) : "–",
            ]);
    }
    return rows;
}

// ---- performance profiles
const profile = (chart) => [
    chart.lines.map((line) => ({
        x: chart.x,
        y: line.y,
        name: line.label,
        mode: "lines",
        hovertemplate: "%{y:.1%}",
        line: { width: 2.2, color: colour(line.colour), dash: dash(line.colour) },
    })),
    layout({
        height: 400,
        hovermode: "x unified",
        xaxis: axis(chart.xlabel),
        yaxis: axis(chart.ylabel, { range: [-0.02, 1.02], tickformat: ".0%" }),
    }),
];
const profileRows = (chart) => [
    ["Algorithm", chart.xlabel, chart.ylabel],
    ...chart.lines.flatMap((line) =>
        line.y
            .map((value, i) => [line.label, number(chart.x[i]), `${Math.round(100 * value)} %`])
            .filter((_, i) => i % 15 === 0),
    ),
];

// ---- worker timelines: one row per process, all runs below each other
function timeline(chart) {
    const ticks = [],
        texts = [],
        traces = [],
        annotations = [],
        shown = new Set();
    let top = 0;
    for (const panel of chart.panels) {
        annotations.push({
            text: `<b>${panel.label.replace(/[<>&]/g, " ")}</b>, seed ${panel.seed}`,
            x: 0,
            xref: "paper",
            xanchor: "left",
            y: top + 0.2,
            yanchor: "middle",
            showarrow: false,
        });
        panel.processes.forEach((name, row) => {
            ticks.push(top + 1 + row);
            texts.push(`${name}  ${Math.round(100 * panel.busy[row])} %`);
        });
        chart.kinds.forEach(([label, tint], kind) => {
            const bars = panel.bars.filter((bar) => bar[1] === kind);
            if (!bars.length) return;
            traces.push({
                type: "bar",
                orientation: "h",
                y: bars.map((bar) => bar[0]).map((row) => row + top + 1),
                base: bars.map((bar) => bar[2]),
                x: bars.map((bar) => bar[3]),
                width: bars.map((bar) => 0.8 * bar[4]),
                marker: { color: themed(tint), line: { width: 0.3, color: css("--back") } },
                name: label,
                legendgroup: label,
                showlegend: !shown.has(label),
                customdata: bars.map((bar) => [bar[2] + bar[3], Math.round(100 * bar[4])]),
                hovertemplate: `${label}<br>%{base:.3f} s to %{customdata[0]:.3f} s<br>%{customdata[1]} % busy<extra></extra>`,
            });
            shown.add(label);
        });
        top += panel.processes.length + 1.6;
    }
    return [
        traces,
        layout({
            height: 130 + 24 * top,
            barmode: "overlay",
            annotations,
            xaxis: axis("Seconds since the window began"),
            hovermode: "closest",
            yaxis: axis("", {
                range: [top - 0.6, -0.4],
                tickvals: ticks,
                ticktext: texts,
                showgrid: false,
                zeroline: false,
            }),
        }),
    ];
}
const timelineRows = (chart) => [
    ["Run", "Process", "Busy"],
    ...chart.panels.flatMap((panel) =>
        panel.processes.map((name, row) => [panel.label, name, `${Math.round(100 * panel.busy[row])} %`]),
    ),
];

const DRAW = { curves, profile, timeline },
    ROWS = { curves: curveRows, profile: profileRows, timeline: timelineRows };
const drawn = new Set();
function draw(place) {
    const chart = DATA.charts[place.closest("figure").id],
        [traces, how] = DRAW[chart.kind](chart);
    place.style.minHeight = "0"; // it kept the place; a timeline may be lower
    Plotly.react(place, traces, how, CONFIG);
    // Plotly measures texts in an element far outside the page, which a screen reader would meet as an image.
    document.getElementById("js-plotly-tester")?.setAttribute("aria-hidden", "true");
    drawn.add(place);
    const details = place.parentElement.querySelector("details.values");
    if (details.open) fill(details);
}
function fill(details) {
    const figure = details.closest("figure"),
        chart = DATA.charts[figure.id],
        rows = ROWS[chart.kind](chart),
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
