"use strict";
(() => {
  // --- figures: drawn at the width there is, by the rules of figures/theme.py ---
  const theme = JSON.parse(document.getElementById("theme")?.textContent ?? "null");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const letter = 0.56 * 12;
  function fitted(spec, width) {
    spec = structuredClone(spec);
    const about = spec.usermeta?.isoglot ?? {};
    if (about.natural) width = Math.min(width, about.natural);
    const names = about.names ?? [];
    const longest = some => Math.max(...some.map(name => name.length));
    const layers = spec.spec ?? spec;
    const most = Math.max(60, Math.round(0.4 * width)); // longer names of rows are cut
    if (about.left) layers.encoding.y.axis = { ...layers.encoding.y.axis, labelLimit: most };
    if (spec.facet) {
      const columns = spec.columns = Math.max(1, Math.min(about.panels, Math.floor(width / 260)));
      const left = Math.min((about.left ?? 4) * letter, most) + 4 * letter;
      const shared = layers.encoding.y?.type === "nominal" && columns === about.panels;
      layers.width = Math.max(80, (width - left - (columns - 1) * (shared ? 20 : left) - 14) / columns);
    } else {
      spec.width = width;
      spec.autosize = { type: "fit-x", contains: "padding" };
    }
    const direct = names.length && (longest(names) + 2) * letter <= width / 3 && !spec.facet;
    const drop = new Set(direct ? [] : ["labels", "labels_levels", "labels_lines"]);
    const narrow = width < 430; // the legend of colors stands below
    const left = Math.min((about.left ?? 0) * letter, most);
    if (about.number) {
      const cell = (width - left - (narrow ? 4 : 12) * letter) / about.columns;
      if (cell < about.number * letter + 4) drop.add("numbers");
      if (layers.encoding.x.axis.labelAngle && cell > 1.6 * 12) layers.encoding.x.axis.labelOverlap = false; // slanted names need no more room
    }
    layers.layer = layers.layer.filter(one => !drop.has(one.name));
    if (names.length && !direct) {
      const wide = count => Array.from({ length: count }, (_, at) => longest(names.filter((_, place) => place % count === at)) * letter + 36).reduce((one, other) => one + other);
      let columns = names.length;
      while (columns > 1 && wide(columns) > width) columns--;
      const legend = { orient: "bottom", columns, title: null };
      if (!layers.encoding.shape) legend.symbolType = "stroke";
      for (const channel of ["color", "strokeDash", "shape"])
        if (layers.encoding[channel]) layers.encoding[channel].legend = { ...legend };
    }
    if (about.keys) layers.encoding.color.legend.columns = Math.max(1, Math.floor((width - left) / (about.keys * letter + 40)));
    if (about.left && !about.number && !spec.facet)
      for (const { encoding: { x } } of layers.layer) if ((x?.axis?.title ?? "").length * letter > width - left) x.axis.titleAnchor = "end";
    if (about.number && narrow)
      for (const one of layers.layer) if (one.encoding.color?.legend) Object.assign(one.encoding.color.legend, { orient: "bottom", direction: "horizontal", gradientLength: 160 });
    return spec;
  }
  async function draw(box) {
    const source = box.querySelector("script");
    const width = box.clientWidth;
    if (!source || !width || box.dataset.width === `${width}${dark.matches}`) return;
    box.dataset.width = `${width}${dark.matches}`;
    const config = structuredClone(theme.config);
    if (dark.matches) config.range.heatmap = [...theme.ramp].reverse();
    const inScheme = color => theme.colors.includes(color) ? `var(--c${theme.colors.indexOf(color) + 1})` : color;
    let view = box.querySelector(".view");
    if (!view) box.append(view = Object.assign(document.createElement("div"), { className: "view" }));
    try {
      const spec = fitted(JSON.parse(source.textContent), width - 2);
      const colors = (spec.spec ?? spec).encoding.color?.scale;
      const onDark = spec.usermeta?.isoglot?.dark;
      if (Array.isArray(colors?.range)) colors.range = dark.matches && onDark ? onDark : colors.range.map(inScheme);
      for (const one of spec.params ?? []) if (one.name === "moment") one.value = box.moment ?? one.value;
      const made = await vegaEmbed(view, spec,
        { actions: false, renderer: "svg", config, logLevel: vega.Error, tooltip: { theme: dark.matches ? "dark" : "light" }, ast: false });
      box.vegaView = made.view;
      if (spec.usermeta?.isoglot?.slider) readOut(box, spec);
    } catch (error) { view.textContent = "This figure could not be drawn; its numbers are below."; console.error(error); }
    box.dataset.drawn = "yes";
  }
  // The values at the position of a slider; the sliders of a section move together.
  function readOut(box, spec) {
    const view = box.vegaView, rows = spec.data.values, color = view.scale("color");
    const last = Math.max(...rows.map(row => row.n));
    const shown = box.parentElement.querySelector("output") ?? document.createElement("output");
    box.after(shown);
    const show = moment => {
      const at = rows.find(row => row.n === moment).x;
      const here = new Map(rows.filter(row => row.n <= moment).map(row => [row.s, row]));
      shown.replaceChildren(`${spec.usermeta.isoglot.slider}: ${Number(at.toPrecision(3)).toLocaleString("en")}`,
        ...[...here.values()].map(row => {
          const one = Object.assign(document.createElement("span"), { textContent: `${row.s} ${row.t}` });
          one.style.color = color(row.s);
          return one;
        }));
    };
    box.last = last;
    show(view.signal("moment"));
    view.addSignalListener("moment", (_, moment) => {
      box.moment = moment;
      show(moment);
      for (const other of box.closest("section").querySelectorAll(".figure"))
        if (other.last === last && other.vegaView.signal("moment") !== moment) other.vegaView.signal("moment", moment).run();
    });
  }
  const boxes = [...document.querySelectorAll(".figure")];
  const drawAll = () => Promise.all(boxes.map(draw)).then(() => { document.body.dataset.ready = "yes"; });
  let waiting;
  if (boxes.length && theme) {
    drawAll();
    addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(drawAll, 150); });
    dark.addEventListener("change", drawAll);
    document.addEventListener("toggle", event => { if (event.target.open) drawAll(); }, true);
  } else document.body.dataset.ready = "yes";

  // --- tables: sorted by a click on a heading, long ones folded, some filtered ---
  const key = cell => {
    const text = cell.textContent.trim();
    const number = parseFloat(text.replace(/[,\u00a0]/g, "").replace("\u2212", "-"));
    return text === "–" ? null : Number.isNaN(number) ? text.toLowerCase() : number;
  };
  const compare = (one, other) => one === other ? 0 : one === null ? 1 : other === null ? -1
    : typeof one === typeof other ? (one < other ? -1 : 1) : typeof one === "number" ? -1 : 1;
  for (const table of document.querySelectorAll("table")) {
    const heads = [...table.querySelectorAll("thead th:not([scope=colgroup])")];
    const order = [...(table.tHead?.rows ?? [])].length > 1
      ? [...table.tHead.rows[0].cells].flatMap(one => one.scope === "colgroup" ? [...Array(one.colSpan)].map(() => null) : [one]) : heads;
    const lower = table.tHead?.rows[1] ? [...table.tHead.rows[1].cells] : [];
    order.map(one => one ?? lower.shift()).forEach((head, column) => {
      if (!head || [...table.tBodies].every(body => body.rows.length < 3)) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach(one => one.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        for (const body of table.tBodies) {
          const fixed = [...body.rows].filter(row => row.cells.length <= column);
          const rows = [...body.rows].filter(row => row.cells.length > column);
          rows.sort((one, other) => (up ? 1 : -1) * compare(key(one.cells[column]), key(other.cells[column])));
          body.append(...fixed, ...rows);
        }
        table.dispatchEvent(new Event("sorted", { bubbles: true }));
      });
    });
  }
  // Intervals, and codes such as en-de, stay on one line; so do numbers with their percent signs.
  const all = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (all.nextNode()) if (/\d %/.test(all.currentNode.data) && all.currentNode.parentNode.localName !== "script") all.currentNode.data = all.currentNode.data.replace(/(\d) %/g, "$1\u00a0%");
  const unbroken = /(\[[^[\]]{3,18}\]|± [\d.]+|\([\d.,]+ to [\d.,]+\)|(?<![^\s(])[a-z]{2,3}-[a-z]{2,3}(?![^\s):,])|\b\w{1,4}-\d+)/;
  for (const part of document.querySelectorAll("h1, h2, nav a, td, th")) {
    const texts = document.createTreeWalker(part, NodeFilter.SHOW_TEXT), found = [];
    while (texts.nextNode()) if (unbroken.test(texts.currentNode.data)) found.push(texts.currentNode);
    for (const text of found) text.replaceWith(...text.data.split(unbroken).map((each, at) => at % 2
      ? Object.assign(document.createElement("span"), { className: /^[[±]/.test(each) ? "interval" : "whole", textContent: each }) : each));
  }
  // Tables that are wider than the text take the room beside it, where there is any.
  function widen() {
    for (const block of document.querySelectorAll("section > .table")) {
      block.classList.remove("wide");
      const scroll = block.querySelector(".scroll");
      block.classList.toggle("wide", !!scroll && scroll.scrollWidth > scroll.clientWidth + 1);
    }
  }
  widen();
  addEventListener("resize", widen);
  const most = 24;
  for (const block of document.querySelectorAll(".table")) {
    const rows = () => [...block.querySelectorAll("tbody tr")];
    const button = Object.assign(document.createElement("button"), { className: "unfold", type: "button" });
    const input = Object.assign(document.createElement("input"), { type: "search", placeholder: block.dataset.hint });
    let folded = rows().length > most + 6;
    const show = () => {
      const words = input.value.toLowerCase().split(",").map(word => word.trim());
      const left = rows().filter(row => {
        const text = row.textContent.toLowerCase();
        const kept = words.every(word => text.includes(word));
        row.classList.toggle("filtered-out", !kept);
        return kept;
      });
      left.forEach((row, at) => row.classList.toggle("folded", folded && at >= most));
      button.hidden = left.length <= most;
      button.textContent = folded ? `Show all ${left.length} rows` : "Show fewer rows";
      button.setAttribute("aria-expanded", String(!folded));
    };
    if (folded) {
      button.addEventListener("click", () => { folded = !folded; show(); });
      block.querySelector(".scroll").after(button);
      block.addEventListener("sorted", show);
      show();
    }
    if (block.classList.contains("filtered")) {
      const label = Object.assign(document.createElement("label"), { className: "filter", textContent: "Filter" });
      label.append(input);
      block.prepend(label);
      input.addEventListener("input", show);
    }
  }
})();
