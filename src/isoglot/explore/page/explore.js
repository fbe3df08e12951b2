// The explorer's page. Text reaches the page as text nodes only, never as markup.
"use strict";

const $ = (id) => document.getElementById(id);
const held = $("data") ? JSON.parse($("data").textContent) : null; // an exported page has its data with it
const token = new URLSearchParams(location.search).get("token") || "";
const pageId = Array.from(crypto.getRandomValues(new Uint8Array(8)), (b) => b.toString(16).padStart(2, "0")).join("");
const SENTENCES = { en: "The government must protect all citizens.", de: "Die Regierung muss alle Bürger schützen." };
const state = {
  view: "turn", model: 0, text: "", source: "", target: "", second: "", alpha: 1, alpha2: 1, layer: null,
  method: "mean", token: null, space: "raw", projection: "pca", sentences: 100, spaceLayer: null, languages: [], own: [],
  point: null, lensSource: "", lensText: "", lensCell: [], first: 0, other: 0, both: false, language: "", otherLanguage: "", cell: [],
};
let models = [], commands = {}, spaceData = null, compareData = {}, playing = null;

// --- server ---

let gone = false;
const waiting = {}, waited = {};
async function ask(view, body) {
  if (held) return heldView(view, body);
  const number = (waiting[view] = (waiting[view] || 0) + 1);
  let answer;
  try {
    answer = await fetch(`api/${view}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-isoglot-token": token, "x-isoglot-page": pageId },
      body: JSON.stringify(body, (_, value) => (typeof value === "string" && value.toWellFormed ? value.toWellFormed() : value)),
    });
  } catch {
    lost();
    return null;
  }
  if (number !== waiting[view] || answer.status === 204) return null; // a newer request is under way
  const found = await answer.json().catch(() => ({ error: "an answer that is not JSON" }));
  if (!answer.ok) {
    say(answer.status === 429 ? "Too fast: wait a moment." : found.error);
    return null;
  }
  say("");
  return found;
}

// What is shown is pale until it is that of the newest request.
async function stale(view, answer) {
  const number = (waited[view] = (waited[view] || 0) + 1);
  $(view).setAttribute("aria-busy", "true");
  const found = await answer;
  if (number === waited[view]) $(view).removeAttribute("aria-busy");
  return found;
}

function heldView(view, body) {
  if (view === "space") return held.space[body.space] || null;
  if (view === "compare") return (body.model === body.other ? held.alone : held.compare)[body.other] || null;
  return null;
}

function say(text) { $("status").textContent = text || ""; $("status").hidden = !text; }

function lost() {
  if (gone) return;
  gone = true;
  say("The server is gone. Start it again with the same --port and --token, and this page comes back by itself.");
  const again = setInterval(async () => {
    try {
      const answer = await about();
      if (answer.status === 403) { say("The server was started again with another token: open the address it printed."); return; }
      if (!answer.ok) return;
      clearInterval(again);
      models = (await answer.json()).models; // perhaps others
      gone = false;
      say("");
      defaults();
      open(state.view);
    } catch { /* still gone */ }
  }, 1500);
}

const about = () => fetch("api/models", { headers: { "x-isoglot-token": token } });
const ALIVE = 4000; // milliseconds between two looks at whether the server is there
setInterval(() => { if (models.length && !held && !gone && !document.hidden) about().catch(lost); }, ALIVE);

// --- small parts ---

function node(kind, attributes = {}, ...children) {
  const made = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, run] of Object.entries(value)) made.addEventListener(event, run);
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}
function drawn(kind, attributes = {}, text = null) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  return made;
}
const model = () => models[state.model];
// What tells the models apart: their paths without the parts that all have at the beginning or at the end.
function shortNames() {
  const parts = models.map((each) => each.name.replace(/\/+$/, "").split("/")), same = (take) => parts.every((each) => take(each) === take(parts[0]));
  if (new Set(models.map((each) => each.name)).size === 1) return parts.map((each) => each.at(-1));
  while (parts.every((each) => each.length > 1) && same((each) => each[0])) parts.forEach((each) => each.shift());
  while (parts.every((each) => each.length > 1) && same((each) => each.at(-1))) parts.forEach((each) => each.pop());
  return parts.map((each) => each.join("/").replace(/^step-0+(?=\d)/, "step "));
}
// Arrow keys move through cells that stand in so many columns; Tab leaves them.
function roving(cells, columns, at = 0) {
  cells.forEach((cell, number) => {
    cell.setAttribute("tabindex", number === at ? 0 : -1);
    cell.addEventListener("keydown", (event) => {
      const next = cells[number + { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key]];
      if (!next) return;
      event.preventDefault();
      cells.forEach((each) => each.setAttribute("tabindex", each === next ? 0 : -1));
      next.focus();
    });
  });
}
// The numbers of a figure as a table, made when it is unfolded.
function tabled(id, make) {
  const box = $(id), fill = () => { if (box.open) box.querySelector("table").replaceChildren(...make().map((cells, row) => node("tr", {}, ...cells.map((cell, at) => node(row && at ? "td" : "th", {}, cell))))); };
  box.ontoggle = fill;
  fill();
}
const hue = (code, among = model().languages) => {
  const place = among.indexOf(code);
  return place < 0 ? "var(--c7)" : `var(--c${place % 7})`;
};
function choices(id, values, chosen, pick, { many = false, colored = false } = {}) {
  $(id).replaceChildren(...values.map((value) => {
    const on = many ? chosen().includes(value) : chosen() === value;
    const button = node("button", { type: "button", "aria-pressed": on, on: { click: () => pick(value) } }, value || "none");
    if (colored && value) button.style.setProperty("--hue", hue(value));
    return button;
  }));
}
function options(id, values, chosen) {
  $(id).replaceChildren(...values.map(([value, text]) => node("option", { value }, text)));
  $(id).value = chosen;
}
let timer = null;
function soon(run, wait = 0) { clearTimeout(timer); timer = setTimeout(run, wait); }

// --- turn a sentence ---

function whose(languages) {
  const source = languages.includes(state.source);
  const targets = [state.target, state.second].filter((code) => code && languages.includes(code));
  if (targets.length && !source) return { color: hue(targets[0]), name: targets[0] };
  if (targets.length && source) return { color: "var(--c7)", name: "both" };
  if (source) return { color: hue(state.source), name: state.source };
  return { color: "var(--line)", name: "neither" };
}

async function turn() {
  if (!model().has_head) { say(`${model().name} has no language modeling head, so it cannot answer.`); return; }
  if (!state.text.trim()) { $("turn-tokens").replaceChildren(); return; }
  const targets = [[state.target, state.alpha], [state.second, state.alpha2]]
    .filter(([code]) => code && code !== state.source).map(([language, alpha]) => ({ language, alpha }));
  const found = await stale("turn", ask("turn", { model: state.model, text: state.text, source: state.source, targets, layer: state.layer, method: state.method }));
  if (!found) return;
  if (state.layer === null) { state.layer = found.layer; showSliders(); }
  commands.turn = found.command;
  $("turn-tokens").replaceChildren(...found.tokens.map((token, number) => {
    const best = token.candidates[0], owner = whose(best.languages);
    const made = node("span", { class: "made", dir: "auto" }, best.text);
    if (owner.name !== "neither") made.style.color = owner.color;
    made.style.borderBottomColor = owner.color;
    const known = token.right !== undefined && token.right !== null;
    const mark = known ? [node("b", { class: token.right ? "right" : "wrong", title: token.right ? "in the dictionary" : "not in the dictionary" }, token.right ? "✓" : "✗")] : [];
    const show = () => { state.token = number; lookAt(token); save(); };
    return node("button", { class: `token${token.begins ? " begins" : ""}`, on: { mouseenter: show, focus: show, click: show } },
      made, node("small", {}, ...mark, token.given));
  }));
  const looked = found.tokens[state.token]; // what is shown of a token follows the sliders
  if (looked) lookAt(looked); else $("turn-candidates").hidden = true;
  const owners = found.tokens.map((token) => whose(token.candidates[0].languages).name);
  const judged = found.tokens.filter((token) => token.right !== undefined && token.right !== null);
  const entries = (name, color, text) => {
    const count = owners.filter((each) => each === name).length;
    return legend(color, `${text}: ${count} of ${owners.length}`);
  };
  $("turn-key").replaceChildren(
    ...[state.source, state.target, state.second].filter(Boolean).map((code) => entries(code, hue(code), `tokens of ${code} only`)),
    entries("both", "var(--c7)", "of source and target"),
    entries("neither", "var(--line)", "of neither"),
    ...(judged.length ? [node("span", {}, node("b", { class: "right" }, "✓"), " a translation in the dictionary, ", node("b", { class: "wrong" }, "✗"), ` another word: ${judged.filter((each) => each.right).length} of ${judged.length} right`)] : []));
  save();
}

function legend(color, text) {
  const box = node("span", { class: "swatch" });
  box.style.background = color;
  return node("span", {}, box, text);
}

const lookAt = (token) => candidates("turn-candidates", `In place of “${token.given.trim()}”:`, token, (each) => whose(each.languages).color);

function candidates(id, title, token, color) {
  $(id).hidden = false;
  $(id).replaceChildren(
    node("p", {}, title),
    node("ol", {}, ...token.candidates.map((each) => {
      const bar = node("span", { class: "bar" });
      bar.style.width = `${(each.probability * 100).toFixed(1)}%`;
      bar.style.background = color(each);
      return node("li", {}, node("span", { dir: "auto" }, each.text.trim() || "(space)"), node("span", { class: "track" }, bar),
        node("span", {}, `${(each.probability * 100).toFixed(1)} %`), node("small", {}, each.languages.join(", ") || "no language"));
    })));
}

function measured() {
  const choice = model().choices[`${state.source}-${state.target}`];
  state.layer = choice ? choice.layer : null;
  state.alpha = choice ? choice.alpha : 1;
}

function showTurn() {
  const codes = model().languages;
  const pick = (name) => (code) => { state[name] = code; if (name !== "second") measured(); showTurn(); turn(); };
  choices("turn-source", codes, () => state.source, pick("source"), { colored: true });
  choices("turn-target", codes.filter((code) => code !== state.source), () => state.target, pick("target"), { colored: true });
  choices("turn-second", ["", ...codes.filter((code) => code !== state.source && code !== state.target)], () => state.second, pick("second"), { colored: true });
  $("turn-text").value = state.text;
  $("turn-method").value = state.method;
  showSliders();
}

function showSliders() {
  $("turn-layer").max = model().layers;
  $("turn-layer").value = state.layer === null ? model().layers : state.layer;
  $("turn-layer-shown").textContent = state.layer === null ? "" : state.layer;
  for (const name of ["alpha", "alpha2"]) {
    $(`turn-${name}`).value = state[name];
    $(`turn-${name}-shown`).textContent = Number(state[name]).toFixed(1);
  }
  $("turn-alpha2-label").hidden = !state.second;
  $("turn-measured").hidden = !model().choices[`${state.source}-${state.target}`];
  const erased = $("turn-method").selectedOptions[0]?.textContent.startsWith("erase");
  for (const name of ["turn-alpha", "turn-alpha2"]) $(name).disabled = erased;
}

// --- the space ---

async function space() {
  const body = { model: state.model, languages: state.languages, sentences: Number(state.sentences), space: state.space, projection: state.projection, own: state.own };
  if (!spaceData) say("Reading the sentences …");
  const found = await stale("space", ask("space", body));
  if (!found) return;
  say("");
  spaceData = found;
  commands.space = found.command;
  if (state.spaceLayer === null || state.spaceLayer >= found.layers.length) state.spaceLayer = Math.max(0, found.layers.length - 2);
  $("space-layer").max = found.layers.length - 1;
  plotSpace(true);
}

function points() {
  const { languages, texts, own, layers } = spaceData, count = texts[languages[0]].length;
  const rows = languages.flatMap((code) => texts[code].map((text, row) => ({ code, row, text })));
  return { count, rows: [...rows, ...own.map((each) => ({ code: each.language, row: null, text: each.text }))], at: layers[state.spaceLayer].points };
}

function plotSpace(anew) {
  if (!spaceData) return;
  const { count, rows, at } = points(), svg = $("space-plot"), { languages } = spaceData;
  // Most points fill the picture; the few beyond stay at its edge.
  const ends2 = [0, 1].map((axis) => { const all = at.map((each) => each[axis]).sort((one, other) => one - other); return [.015, .985].map((share) => all[Math.round(share * (all.length - 1))]); });
  const [mx, my] = ends2.map(([low, high]) => (low + high) / 2);
  const largest = Math.max(...ends2.map(([low, high]) => (high - low) / 2), 1e-9);
  const within = (value) => Math.max(-107, Math.min(107, (value / largest) * 96));
  const beyond = at.filter(([x, y]) => Math.max(Math.abs(x - mx), Math.abs(y - my)) > largest * 107 / 96).length;
  const place = ([x, y]) => [within(x - mx), within(my - y)];
  const ends = [];
  for (let row = 0; row < count; row++) for (let k = 1; k < languages.length; k++) ends.push([row, k * count + row]);
  if (anew) {
    svg.replaceChildren(
      ...ends.map(([one]) => { const made = drawn("line", { class: "pair" }); made.dataset.row = one; return made; }),
      ...rows.map(({ code, row, text }, number) => {
        const made = drawn("circle", { r: row === null ? 3.4 : 1.5, tabindex: -1 });
        made.style.fill = hue(code);
        if (row === null) made.style.stroke = "var(--ink)";
        made.dataset.row = row === null ? "own" : row;
        made.append(drawn("title", {}, `${code}: ${text}`));
        made.addEventListener("click", () => pickPoint(number));
        made.addEventListener("mouseenter", () => { if (state.point === null) describe(number); });
        return made;
      }),
      ...legendOf(languages));
    svg.setAttribute("viewBox", "-110 -110 220 232");
  }
  svg.querySelectorAll("circle").forEach((circle, number) => {
    const [x, y] = place(at[number]);
    circle.setAttribute("cx", x.toFixed(2));
    circle.setAttribute("cy", y.toFixed(2));
  });
  svg.querySelectorAll("line.pair").forEach((line, number) => {
    const [one, other] = ends[number].map((each) => place(at[each]));
    for (const [name, value] of [["x1", one[0]], ["y1", one[1]], ["x2", other[0]], ["y2", other[1]]]) line.setAttribute(name, value.toFixed(2));
  });
  $("space-layer").value = state.spaceLayer;
  $("space-layer-shown").textContent = state.spaceLayer;
  $("space-caption").textContent = `Layer ${state.spaceLayer} of ${spaceData.layers.length - 1}, ${state.projection === "umap" ? "UMAP" : "the two largest principal components"}, ${count} sentences in each language.${beyond ? ` ${beyond} points lie beyond the edge.` : ""}`;
  precision();
  marked();
  tabled("space-table", sentenceTable);
  save();
}

function legendOf(codes) {
  let x = -104;
  return codes.flatMap((code) => {
    const dot = drawn("rect", { x, y: 112, width: 5, height: 5, rx: 1 }), text = drawn("text", { x: x + 7, y: 117, "font-size": 6.5 }, code);
    dot.style.fill = hue(code);
    x += 14 + 3.9 * code.length;
    return [dot, text];
  });
}

// Every sentence, and whether its translations are nearest to it in the first language.
function sentenceTable() {
  const { languages, texts, layers } = spaceData, [first, ...others] = languages, { neighbors } = layers[state.spaceLayer];
  const look = (row) => node("button", { type: "button", "aria-label": `Show sentence ${row + 1}`, on: { click: () => { state.point = null; pickPoint(row); } } }, String(row + 1));
  return [["", first, ...others.map((code) => `${code}, ✓ nearest`)],
    ...texts[first].map((text, row) => [look(row), text, ...others.map((code) => `${texts[code][row]} ${neighbors[`${first}-${code}`][row] === row ? "✓" : "✗"}`)])];
}

function precision() {
  const { languages, layers } = spaceData, found = layers[state.spaceLayer].precision;
  $("space-precision").replaceChildren(
    node("tr", {}, node("th", {}, "from \\ to"), ...languages.map((code) => node("th", {}, code))),
    ...languages.map((one) => node("tr", {}, node("th", {}, one), ...languages.map((other) => {
      if (one === other) return node("td", {}, "–");
      const share = found[`${one}-${other}`], cell = node("td", {}, `${(share * 100).toFixed(0)} %`);
      cell.style.background = `color-mix(in srgb, var(--accent) ${Math.round(share * 55)}%, transparent)`;
      return cell;
    }))));
}

function pickPoint(number) {
  state.point = state.point === number ? null : number;
  marked();
  save();
}

// The point that was picked stands out with its translations.
function marked() {
  const svg = $("space-plot"), one = points().rows[state.point], circle = svg.querySelectorAll("circle")[state.point];
  if (!one) state.point = null;
  svg.classList.toggle("picked", !!one);
  svg.querySelectorAll("circle, line.pair").forEach((each) => each.classList.toggle("on", !!one && (each === circle || each.dataset.row === String(one.row))));
  if (one) describe(state.point); else $("space-point").hidden = true;
}

function describe(number) {
  const { count, rows } = points(), { code, row, text } = rows[number], { languages, texts, layers } = spaceData;
  const here = layers[state.spaceLayer], own = row === null ? here.own[number - count * languages.length] : null;
  const lines = [node("p", {}, node("strong", {}, code), ` ${text}`)];
  for (const other of languages.filter((each) => each !== code)) {
    const nearest = own ? own[other] : here.neighbors[`${code}-${other}`][row], right = nearest === row;
    const shown = node("p", {}, node("strong", {}, other), ` ${texts[other][nearest]} `, own ? "" : right ? "✓" : "✗");
    shown.style.color = own || right ? "" : "var(--warn)";
    lines.push(shown);
  }
  $("space-point").hidden = false;
  $("space-point").replaceChildren(...lines);
}

function showSpace() {
  const codes = model().languages;
  if (!state.languages.length) state.languages = [...codes];
  choices("space-space", ["raw", "centered", "mapped"], () => state.space, (value) => { state.space = value; showSpace(); space(); });
  choices("space-languages", codes, () => state.languages, (code) => {
    const on = state.languages.includes(code);
    if (on && state.languages.length <= 2) { say("At least two languages."); return; }
    if (held) return;
    state.point = null;
    state.languages = on ? state.languages.filter((each) => each !== code) : codes.filter((each) => each === code || state.languages.includes(each));
    showSpace();
    space();
  }, { many: true, colored: true });
  $("space-projection").value = state.projection;
  const umap = $("space-projection").querySelector("[value=umap]");
  umap.disabled = !model().umap;
  $("space-projection").title = model().umap ? "" : "UMAP needs: pip install umap-learn";
  umap.textContent = model().umap ? "UMAP" : "UMAP (missing)";
  $("space-sentences").value = state.sentences;
  options("space-own-language", codes.map((code) => [code, code]), codes[0]);
}

// --- layers ---

async function lens() {
  if (!model().has_head) { say(`${model().name} has no language modeling head.`); return; }
  if (!state.lensText.trim()) return;
  const found = await ask("lens", { model: state.model, text: state.lensText, source: state.lensSource });
  if (!found) return;
  const color = (languages) => languages.includes(state.lensSource) ? hue(state.lensSource) : languages.length ? hue(languages[0]) : "var(--line)";
  const look = (layer, position) => {
    state.lensCell = [layer, position];
    candidates("lens-candidates", `Layer ${layer}, at “${found.given[position].trim()}”:`, found.layers[layer][position], (each) => color(each.languages));
    save();
  };
  const head = node("tr", {}, node("th", {}, "layer"), ...found.given.map((text) => node("th", {}, text.trim())));
  const rows = found.layers.map((tokens, layer) => node("tr", {}, node("th", {}, String(layer)), ...tokens.map((token, position) => {
    const best = token.candidates[0], show = () => look(layer, position);
    const cell = node("td", { on: { mouseenter: show, focus: show, click: show } }, best.text.trim() || "·");
    cell.style.background = `color-mix(in srgb, ${color(best.languages)} ${Math.round(8 + best.probability * 45)}%, transparent)`;
    return cell;
  })));
  $("lens-table").replaceChildren(head, ...rows.reverse());
  roving([...$("lens-table").querySelectorAll("td")], found.given.length);
  const [layer, position] = state.lensCell;
  if (layer < found.layers.length && position < found.given.length) look(layer, position); else $("lens-candidates").hidden = true;
  $("lens-key").replaceChildren(...model().languages.map((code) => {
    const box = node("span", { class: "swatch" });
    box.style.background = hue(code);
    return node("span", {}, box, code);
  }), node("span", {}, "stronger: more probable"));
  save();
}

function showLens() {
  choices("lens-source", model().languages, () => state.lensSource, (code) => { state.lensSource = code; showLens(); lens(); }, { colored: true });
  $("lens-text").value = state.lensText;
}

// --- two models ---

async function compare() {
  const body = { model: Number(state.first), other: Number(state.other), sentences: 100, language: state.language || null, other_language: state.otherLanguage || null };
  if (!compareData.grid) say("Reading the sentences …");
  const found = await stale("compare", ask("compare", body));
  if (!found) { if (held) say(""); return; }
  compareData = found;
  commands.compare = found.command;
  for (const [id, side] of [["compare-language", 0], ["compare-other-language", 1]]) $(id).options[0].textContent = `automatic (${found.languages[side]})`;
  plotGrid();
}

const shade = (value) => `color-mix(in oklab, var(--accent) ${Math.round(Math.max(0, Math.min(1, value)) * 100)}%, var(--card))`;

function plotGrid() {
  const { grid, languages } = compareData, names = shortNames(), svg = $("compare-plot");
  const rows = grid.length, columns = grid[0].length, size = Math.min(200 / columns, 200 / rows);
  const made = [];
  grid.forEach((values, row) => values.forEach((value, column) => {
    const about = `layer ${row} and layer ${column}: CKA ${value.toFixed(2)}`;
    const cell = drawn("rect", { class: "cell", x: 36 + column * size, y: 12 + (rows - 1 - row) * size, width: size, height: size, role: "button", "aria-label": about });
    cell.style.fill = shade(value);
    cell.append(drawn("title", {}, about));
    const look = () => behind(row, column);
    cell.addEventListener("click", look);
    cell.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); look(); } });
    made.push(cell);
    if (size > 17) made.push(drawn("text", { x: 36 + (column + .5) * size, y: 12 + (rows - .5 - row) * size + 2.4, "font-size": 6.6, "text-anchor": "middle", "pointer-events": "none" }, value.toFixed(2).replace("0.", ".")));
  }));
  for (let row = 0; row < rows; row++) made.push(drawn("text", { x: 30, y: 12 + (rows - .5 - row) * size + 2.6, "font-size": 7.5, "text-anchor": "end" }, row));
  for (let column = 0; column < columns; column++) made.push(drawn("text", { x: 36 + (column + .5) * size, y: 22 + rows * size, "font-size": 7.5, "text-anchor": "middle" }, column));
  const name = (side) => `${names[[state.first, state.other][side]].slice(-28)}, ${languages[side]}`;
  made.push(drawn("text", { x: 36 + columns * size / 2, y: 36 + rows * size, "font-size": 8.5, "text-anchor": "middle" }, `layer of ${name(1)}`));
  made.push(drawn("text", { x: 12, y: 12 + rows * size / 2, "font-size": 8.5, "text-anchor": "middle", transform: `rotate(-90 12 ${12 + rows * size / 2})` }, `layer of ${name(0)}`));
  for (let part = 0; part < 20; part++) {
    const step = drawn("rect", { x: 240, y: 12 + rows * size * (19 - part) / 20, width: 6, height: rows * size / 20 + .3 });
    step.style.fill = shade((part + .5) / 20);
    made.push(step);
  }
  made.push(drawn("text", { x: 249, y: 17, "font-size": 6.6 }, 1), drawn("text", { x: 249, y: 12 + rows * size, "font-size": 6.6 }, 0));
  made.push(drawn("rect", { id: "compare-frame-cell", width: size, height: size, visibility: "hidden", "pointer-events": "none" }));
  const focused = svg.contains(document.activeElement);
  svg.replaceChildren(...made);
  const cells = [...svg.querySelectorAll("rect.cell")], [row, column] = state.cell;
  const visual = Array.from({ length: rows }, (_, at) => cells.slice((rows - 1 - at) * columns, (rows - at) * columns)).flat();
  const at = row < rows && column < columns ? (rows - 1 - row) * columns + column : (rows - 1) * columns;
  roving(visual, columns, at);
  if (focused) visual[at].focus();
  tabled("compare-table", () => [[`${names[state.first]} \\ ${names[state.other]}`, ...grid[0].map((_, each) => String(each))], ...grid.map((values, each) => [String(each), ...values.map((value) => value.toFixed(3))])]);
  const best = grid.map((values, row) => [Math.max(...values), row]).sort((one, other) => other[0] - one[0])[0];
  $("compare-caption").textContent = `Debiased CKA on ${compareData.sentences} built-in sentences; highest ${best[0].toFixed(2)}, in layer ${best[1]} of the first.`;
  say("");
  if (row < rows && column < columns) behind(row, column); else $("compare-cell").replaceChildren(node("p", {}, "Click a cell to see the sentences behind it."));
  save();
}

async function behind(layer, other) {
  state.cell = [layer, other];
  save();
  const { grid, languages } = compareData, size = Math.min(200 / grid[0].length, 200 / grid.length), frame = $("compare-frame-cell");
  for (const [name, value] of [["x", 36 + other * size], ["y", 12 + (grid.length - 1 - layer) * size], ["visibility", "visible"]]) frame.setAttribute(name, value);
  const found = held ? heldCell(layer, other)
    : await ask("cell", { model: Number(state.first), other: Number(state.other), sentences: 100, layer, other_layer: other, language: languages[0], other_language: languages[1] });
  if (!found) return;
  const list = (rows) => node("ol", {}, ...rows.map((row) => node("li", {}, row.texts[0], ...(row.texts[1] === row.texts[0] ? [] : [node("br"), node("small", {}, row.texts[1])]),
    node("small", { class: "share" }, ((Math.round(row.agreement * 100) || 0) / 100).toFixed(2).replace("-", "−")))));
  $("compare-cell").replaceChildren(node("h2", {}, `Layer ${layer} and layer ${other}: CKA ${grid[layer][other].toFixed(2)}`),
    node("p", {}, "A sentence's similarities to all others, in one layer and in the other, correlate most for"), list(found.most), node("p", {}, "and least for"), list(found.least));
}

function heldCell(layer, other) {
  const { texts, cells } = compareData.behind;
  const [most, least] = cells[layer][other].map((rows) => rows.map(([row, agreement]) => ({ texts: texts.map((side) => side[row]), agreement })));
  return { most, least };
}

function showCompare() {
  const names = shortNames(), named = models.map((each, number) => [number, names[number]]);
  options("compare-model", named, state.first);
  options("compare-other", named, state.other);
  options("compare-language", [["", "automatic"], ...models[state.first].languages.map((code) => [code, code])], state.language);
  options("compare-other-language", [["", "automatic"], ...models[state.other].languages.map((code) => [code, code])], state.otherLanguage);
  $("compare-frames").hidden = models.length < 2;
  $("compare-frame").max = models.length - 1;
  $("compare-frame").value = state.other;
  $("compare-frame-shown").textContent = names[state.other];
  $("compare-both").checked = state.both;
}

// --- state, links, saving ---

let saving = null;
function save() { clearTimeout(saving); saving = setTimeout(saveNow, 150); } // browsers limit how often an address may change
function saveNow() {
  if (held) return;
  const kept = Object.fromEntries(Object.entries(state).filter(([, value]) => value !== null && value !== ""));
  history.replaceState(null, "", `${location.pathname}${location.search}#${encodeURIComponent(JSON.stringify(kept))}`);
}

function restore() {
  try {
    const kept = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    for (const [name, value] of Object.entries(kept)) if (name in state && (state[name] === null || (typeof value === typeof state[name] && Array.isArray(value) === Array.isArray(state[name])))) state[name] = value;
    return true;
  } catch { return false; }
}

function noted(text) { $("saved").textContent = text; setTimeout(() => { $("saved").textContent = ""; }, 4000); }

async function copy(text, what) {
  try { await navigator.clipboard.writeText(text); noted(`${what} copied`); } catch { noted(text); }
}

// What is seen as an SVG: that of the view, or one drawn from the boxes and texts of its part of the page.
function saveFigure() {
  const svg = document.querySelector(`#${state.view} svg`), alone = svg ? copied(svg) : traced($(state.view).querySelector(".seen"));
  alone.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const text = new XMLSerializer().serializeToString(alone).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "\ufffd");
  const link = node("a", { href: URL.createObjectURL(new Blob([text], { type: "image/svg+xml" })), download: `${state.view}.svg` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  noted(`${state.view}.svg saved`);
}

function copied(svg) {
  const alone = svg.cloneNode(true), originals = svg.querySelectorAll("*");
  alone.querySelectorAll("*").forEach((each, number) => {
    const now = getComputedStyle(originals[number]);
    each.removeAttribute("style");
    for (const key of ["fill", "stroke", "stroke-opacity", "stroke-width", "opacity", "font-family"]) each.setAttribute(key, plain(now.getPropertyValue(key)));
  });
  const [x, y, width, height] = svg.getAttribute("viewBox").split(" ");
  alone.setAttribute("width", 3 * width);
  alone.setAttribute("height", 3 * height);
  alone.prepend(drawn("rect", { x, y, width, height, fill: plain(getComputedStyle(svg).backgroundColor) }));
  return alone;
}

function traced(part) {
  const { left, top, width, height } = part.getBoundingClientRect(), back = plain(getComputedStyle(document.body).backgroundColor);
  const made = drawn("svg", { viewBox: `0 0 ${width} ${height}`, width, height });
  made.append(drawn("rect", { width, height, fill: back }));
  for (const each of part.querySelectorAll("*")) {
    const box = each.getBoundingClientRect(), now = getComputedStyle(each), place = { x: box.left - left, y: box.top - top, width: box.width };
    if (plain(now.backgroundColor) !== "none") made.append(drawn("rect", { ...place, height: box.height, fill: plain(now.backgroundColor) }));
    const line = parseFloat(now.borderBottomWidth);
    if (line && plain(now.borderBottomColor) !== "none") made.append(drawn("rect", { ...place, y: box.bottom - top - line, height: line, fill: plain(now.borderBottomColor) }));
    for (const child of each.childNodes) {
      if (child.nodeType !== Node.TEXT_NODE || !child.data.trim()) continue;
      const range = document.createRange();
      range.selectNodeContents(child);
      const at = range.getBoundingClientRect();
      made.append(drawn("text", { x: at.left - left, y: at.top - top + at.height * .78, "font-size": now.fontSize, "font-family": "Helvetica, Arial, sans-serif", fill: plain(now.color), textLength: at.width, lengthAdjust: "spacingAndGlyphs" }, child.data.trim()));
    }
  }
  return made;
}

// A color as programs other than browsers know it: #rrggbb, or none if it is transparent.
function plain(color) {
  if (!/^(rgb|color|okl|lab|#)/.test(color)) return color;
  const dot = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
  dot.fillStyle = color;
  dot.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = dot.getImageData(0, 0, 1, 1).data;
  if (!alpha) return "none";
  const under = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
  return "#" + [red, green, blue].map((each, channel) => Math.round(each * alpha / 255 + under[channel] * (1 - alpha / 255)).toString(16).padStart(2, "0")).join("");
}

function play(button, step) {
  if (playing) { clearInterval(playing); playing = null; $("space-play").textContent = $("compare-play").textContent = "Play"; return; }
  button.textContent = "Stop";
  playing = setInterval(() => { if (!document.querySelector("[aria-busy]")) step(); }, 1100); // no step before the last one is seen
}

const NO_COMMAND = {
  turn: "The command line shifts to one other language at a time, and erases with: isoglot steer erase.",
  space: "The command line maps with: isoglot align sentences.",
  lens: "The command line has no logit lens.",
  compare: "The command line compares two languages: choose another language for one side.",
};
const shows = { turn: [showTurn, turn], space: [showSpace, space], lens: [showLens, lens], compare: [showCompare, compare] };
function refresh() { shows[state.view][0](); shows[state.view][1](); }

function open(view) {
  if (playing) play();
  state.view = view;
  document.querySelectorAll("[role=tab]").forEach((tab) => { tab.setAttribute("aria-selected", tab.dataset.view === view); tab.setAttribute("tabindex", tab.dataset.view === view ? 0 : -1); });
  document.querySelectorAll("[role=tabpanel]").forEach((panel) => { panel.hidden = panel.id !== view; });
  $("save-command").hidden = !!held;
  document.querySelector(".model").classList.toggle("elsewhere", view === "compare" || models.length < 2);
  say("");
  refresh();
}

function defaults() {
  if (!(state.model < models.length)) state.model = 0;
  options("model", shortNames().map((name, number) => [number, name]), state.model);
  const codes = model().languages;
  const valid = (code) => codes.includes(code);
  if (!valid(state.source)) state.source = codes[0];
  if (!valid(state.target) || state.target === state.source) { state.target = codes.find((code) => code !== state.source && code === "de") || codes.find((code) => code !== state.source) || ""; measured(); }
  if (!valid(state.second)) state.second = "";
  if (!valid(state.lensSource)) state.lensSource = codes[0];
  state.languages = state.languages.filter(valid);
  if (!state.text) state.text = SENTENCES[state.source] || SENTENCES.en;
  if (!state.lensText) state.lensText = SENTENCES[state.lensSource] || SENTENCES.en;
  if (state.layer !== null && state.layer > model().layers) state.layer = null;
  for (const name of ["first", "other"]) if (!(state[name] < models.length)) state[name] = 0;
}

function wire() {
  const tabs = [...document.querySelectorAll("[role=tab]:not([hidden])")];
  roving(tabs, 1);
  tabs.forEach((tab) => tab.addEventListener("click", () => open(tab.dataset.view)));
  $("model").addEventListener("change", () => { state.model = Number($("model").value); state.layer = null; state.languages = []; state.point = null; spaceData = null; defaults(); refresh(); });
  $("turn-text").addEventListener("input", () => { state.text = $("turn-text").value.slice(0, 500); soon(turn, 150); });
  $("lens-text").addEventListener("input", () => { state.lensText = $("lens-text").value.slice(0, 500); soon(lens, 200); });
  for (const name of ["alpha", "alpha2", "layer"]) $(`turn-${name}`).addEventListener("input", () => { state[name] = Number($(`turn-${name}`).value); showSliders(); turnSoon(); });
  $("turn-method").addEventListener("change", () => { state.method = $("turn-method").value; showSliders(); turn(); });
  $("turn-measured").addEventListener("click", () => { measured(); showTurn(); turn(); });
  $("space-layer").addEventListener("input", () => { state.spaceLayer = Number($("space-layer").value); plotSpace(false); });
  $("space-projection").addEventListener("change", () => { state.projection = $("space-projection").value; space(); });
  $("space-sentences").addEventListener("change", () => { state.sentences = Number($("space-sentences").value); state.point = null; space(); });
  $("space-play").addEventListener("click", () => play($("space-play"), () => { state.spaceLayer = (state.spaceLayer + 1) % spaceData.layers.length; plotSpace(false); }));
  $("space-own").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = $("space-own-text").value.trim();
    if (!text) return;
    state.own = [...state.own, { language: $("space-own-language").value, text }].slice(-20);
    $("space-own-text").value = "";
    space();
  });
  $("space-own-clear").addEventListener("click", () => { state.own = []; space(); });
  for (const [id, name] of [["compare-model", "first"], ["compare-other", "other"]]) $(id).addEventListener("change", () => { state[name] = Number($(id).value); state.both = false; state.cell = []; showCompare(); compare(); });
  for (const [id, name] of [["compare-language", "language"], ["compare-other-language", "otherLanguage"]]) $(id).addEventListener("change", () => { state[name] = $(id).value; compare(); });
  const frame = (number) => { state.other = number; if (state.both) state.first = number; showCompare(); compare(); };
  $("compare-frame").addEventListener("input", () => frame(Number($("compare-frame").value)));
  $("compare-both").addEventListener("change", () => { state.both = $("compare-both").checked; if (!state.both) state.first = 0; frame(Number(state.other)); });
  $("compare-play").addEventListener("click", () => play($("compare-play"), () => frame((Number(state.other) + 1) % models.length)));
  $("save-link").addEventListener("click", () => { saveNow(); copy(location.href, "Link"); });
  $("save-figure").addEventListener("click", saveFigure);
  $("save-command").addEventListener("click", () => commands[state.view] ? copy(commands[state.view], "Command") : noted(NO_COMMAND[state.view]));
  window.addEventListener("hashchange", () => { if (restore()) { defaults(); open(state.view); } });
}

// One request in flight, and the newest slider position after it: the page never falls behind the hand.
let turning = false, turnAgain = false;
async function turnSoon() {
  if (turning) { turnAgain = true; return; }
  turning = true;
  await turn();
  turning = false;
  if (turnAgain) { turnAgain = false; turnSoon(); }
}

async function begin() {
  if (held) {
    models = held.models;
    document.body.classList.add("static");
    document.querySelectorAll("[data-view=turn], [data-view=lens]").forEach((tab) => { tab.hidden = true; });
    state.view = "space";
  } else {
    say("Opening the model …");
    const answer = await about().catch(() => null);
    if (!answer || !answer.ok) { say(answer ? (await answer.json()).error : "The server is gone."); return; }
    models = (await answer.json()).models;
    restore();
  }
  say("");
  defaults();
  if (models.length > 1 && !held && !location.hash) state.other = 1;
  wire();
  open(shows[state.view] ? state.view : "turn");
}
begin();
