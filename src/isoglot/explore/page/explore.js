// The explorer's page. Text reaches the page as text nodes only, never as markup.
"use strict";

const $ = (id) => document.getElementById(id);
const held = $("data") ? JSON.parse($("data").textContent) : null; // an exported page has its data with it
const token = new URLSearchParams(location.search).get("token") || "";
const pageId = Array.from(crypto.getRandomValues(new Uint8Array(8)), (b) => b.toString(16).padStart(2, "0")).join("");
const SENTENCES = { en: "The government must protect all citizens.", de: "Die Regierung muss alle Bürger schützen." };
const state = {
  view: "turn", model: 0, text: "", source: "", target: "", second: "", alpha: 1, alpha2: 1, layer: null,
  method: "mean", space: "raw", projection: "pca", sentences: 100, spaceLayer: null, languages: [], own: [],
  lensSource: "", lensText: "", first: 0, other: 0, language: "", otherLanguage: "", frame: 0,
};
let models = [], commands = {}, spaceData = null, compareData = [], picked = null, playing = null;

// --- server ---

let gone = false;
const waiting = {};
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
  if (number !== waiting[view] || answer.status === 409) return null; // a newer request is under way
  const found = await answer.json().catch(() => ({ error: "an answer that is not JSON" }));
  if (!answer.ok) {
    say(answer.status === 429 ? "Too fast: wait a moment." : found.error);
    return null;
  }
  say("");
  return found;
}

function heldView(view, body) {
  if (view === "space") return held.space[body.space] || null;
  if (view === "compare") return held.compare[body.other] || null;
  return null;
}

function say(text) { $("status").textContent = text || ""; $("status").hidden = !text; }

function lost() {
  if (gone) return;
  gone = true;
  say("The server is gone. Start it again with the same --port and --token, and this page comes back by itself.");
  const again = setInterval(async () => {
    try {
      const answer = await fetch("api/models", { headers: { "x-isoglot-token": token } });
      if (answer.status === 403) { say("The server was started again with another token: open the address it printed."); return; }
      if (!answer.ok) return;
      clearInterval(again);
      gone = false;
      say("");
      refresh();
    } catch { /* still gone */ }
  }, 1500);
}

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
const hue = (code, among = model().languages) => {
  const place = among.indexOf(code);
  return place < 0 ? "var(--c7)" : `var(--c${place % 7})`;
};
function choices(id, values, chosen, pick, { many = false, colored = false } = {}) {
  $(id).replaceChildren(...values.map((value) => {
    const on = many ? chosen().includes(value) : chosen() === value;
    const button = node("button", { type: "button", "aria-pressed": on, on: { click: () => pick(value) } }, value || "none");
    if (colored && value) { button.style.borderBottom = `3px solid ${hue(value)}`; }
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
  return { color: "transparent", name: languages[0] ? languages.join(", ") : "neither" };
}

async function turn() {
  if (!model().has_head) { say(`${model().name} has no language modeling head, so it cannot answer.`); return; }
  if (!state.text.trim()) { $("turn-tokens").replaceChildren(); return; }
  const targets = [[state.target, state.alpha], [state.second, state.alpha2]]
    .filter(([code]) => code && code !== state.source).map(([language, alpha]) => ({ language, alpha }));
  const found = await ask("turn", { model: state.model, text: state.text, source: state.source, targets, layer: state.layer, method: state.method });
  if (!found) return;
  if (state.layer === null) { state.layer = found.layer; showSliders(); }
  commands.turn = found.command;
  $("turn-tokens").replaceChildren(...found.tokens.map((token) => {
    const best = token.candidates[0], color = whose(best.languages);
    const mark = token.right === undefined || token.right === null ? "" : token.right ? "right" : "wrong";
    const made = node("span", { class: `made ${mark}` }, best.text);
    made.style.borderBottomColor = color.color;
    const show = () => candidates(token);
    return node("button", { class: `token${token.begins ? " begins" : ""}`, on: { mouseenter: show, focus: show, click: show } },
      made, node("small", {}, token.given));
  }));
  const swatch = (color, text) => { const box = node("span", { class: "swatch" }); box.style.background = color; return node("span", {}, box, text); };
  $("turn-key").replaceChildren(
    ...[state.source, state.target, state.second].filter(Boolean).map((code) => swatch(hue(code), `${code} token`)),
    swatch("var(--c7)", "token of both"),
    node("span", { class: "token" }, node("span", { class: "right" }, "translation in the dictionary")),
    node("span", { class: "token" }, node("span", { class: "wrong" }, "not in it")));
  save();
}

function candidates(token) {
  $("turn-candidates").hidden = false;
  $("turn-candidates").replaceChildren(
    node("p", {}, `In place of “${token.given.trim()}”:`),
    node("ol", {}, ...token.candidates.map((each) => {
      const bar = node("span", { class: "bar" });
      bar.style.width = `${Math.round(each.probability * 160)}px`;
      bar.style.background = whose(each.languages).color === "transparent" ? "var(--line)" : whose(each.languages).color;
      return node("li", {}, bar, `${each.text.trim() || "(space)"}  ${(each.probability * 100).toFixed(1)} %  ${each.languages.join(" ")}`);
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
}

// --- the space ---

async function space() {
  const body = { model: state.model, languages: state.languages, sentences: Number(state.sentences), space: state.space, projection: state.projection, own: state.own };
  if (!spaceData) say("Reading the sentences …");
  const found = await ask("space", body);
  if (!found) return;
  spaceData = found;
  commands.space = found.command;
  if (state.spaceLayer === null || state.spaceLayer >= found.layers.length) state.spaceLayer = Math.max(0, found.layers.length - 2);
  $("space-layer").max = found.layers.length - 1;
  picked = null;
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
  const middle = (axis) => { const all = at.map((each) => each[axis]).sort((one, other) => one - other); return all[all.length >> 1]; };
  const [mx, my] = [middle(0), middle(1)];
  const far = at.map(([x, y]) => Math.max(Math.abs(x - mx), Math.abs(y - my))).sort((one, other) => one - other);
  const largest = Math.max(far[Math.floor(far.length * .97)], 1e-9);
  const within = (value) => Math.max(-106, Math.min(106, (value / largest) * 98));
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
        made.addEventListener("mouseenter", () => { if (picked === null) describe(number); });
        return made;
      }));
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
  $("space-caption").textContent = `Layer ${state.spaceLayer} of ${spaceData.layers.length - 1}, ${state.projection === "umap" ? "UMAP" : "the two largest principal components"}, ${count} sentences in each language.`;
  precision();
  if (picked !== null) describe(picked);
  save();
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
  picked = picked === number ? null : number;
  const svg = $("space-plot"), row = picked === null ? null : points().rows[picked].row;
  svg.classList.toggle("picked", picked !== null);
  svg.querySelectorAll("circle, line.pair").forEach((each) => each.classList.toggle("on", row !== null && each.dataset.row === String(row)));
  if (picked !== null) describe(picked);
}

function describe(number) {
  const { rows } = points(), { code, row, text } = rows[number], { languages, texts, layers } = spaceData;
  const box = $("space-point");
  box.hidden = false;
  const lines = [node("p", {}, node("strong", {}, code), ` ${text}`)];
  if (row !== null) {
    for (const other of languages.filter((each) => each !== code)) {
      const nearest = layers[state.spaceLayer].neighbors[`${code}-${other}`][row], right = nearest === row;
      const shown = node("p", {}, node("strong", {}, other), ` ${texts[other][nearest]} `, right ? "✓" : "✗");
      shown.style.color = right ? "" : "var(--warn)";
      lines.push(shown);
    }
  }
  box.replaceChildren(...lines);
}

function showSpace() {
  const codes = model().languages;
  if (!state.languages.length) state.languages = [...codes];
  choices("space-space", ["raw", "centered", "mapped"], () => state.space, (value) => { state.space = value; showSpace(); space(); });
  choices("space-languages", codes, () => state.languages, (code) => {
    const on = state.languages.includes(code);
    if (on && state.languages.length <= 2) { say("At least two languages."); return; }
    if (held) return;
    state.languages = on ? state.languages.filter((each) => each !== code) : codes.filter((each) => each === code || state.languages.includes(each));
    showSpace();
    space();
  }, { many: true, colored: true });
  $("space-projection").value = state.projection;
  $("space-projection").querySelector("[value=umap]").disabled = !model().umap;
  $("space-sentences").value = state.sentences;
  options("space-own-language", codes.map((code) => [code, code]), codes[0]);
}

// --- layers ---

async function lens() {
  if (!model().has_head) { say(`${model().name} has no language modeling head.`); return; }
  if (!state.lensText.trim()) return;
  const found = await ask("lens", { model: state.model, text: state.lensText, source: state.lensSource });
  if (!found) return;
  const head = node("tr", {}, node("th", {}, "layer"), ...found.given.map((text) => node("th", {}, text.trim())));
  const rows = found.layers.map((tokens, layer) => node("tr", {}, node("th", {}, String(layer)), ...tokens.map((token) => {
    const best = token.candidates[0], own = best.languages.includes(state.lensSource);
    const title = token.candidates.map((each) => `${each.text.trim()} ${(each.probability * 100).toFixed(1)} %`).join("\n");
    const cell = node("td", { title }, best.text.trim() || "·");
    const color = own ? hue(state.lensSource) : best.languages.length ? hue(best.languages[0]) : "var(--line)";
    cell.style.background = `color-mix(in srgb, ${color} ${Math.round(8 + best.probability * 45)}%, transparent)`;
    return cell;
  })));
  $("lens-table").replaceChildren(head, ...rows.reverse());
  $("lens-key").replaceChildren(...model().languages.map((code) => {
    const box = node("span", { class: "swatch" });
    box.style.background = hue(code);
    return node("span", {}, box, code);
  }), node("span", {}, "stronger: more probable; point at a cell for five candidates"));
  save();
}

function showLens() {
  choices("lens-source", model().languages, () => state.lensSource, (code) => { state.lensSource = code; showLens(); lens(); }, { colored: true });
  $("lens-text").value = state.lensText;
}

// --- two models ---

async function compare() {
  const body = { model: Number(state.first), other: Number(state.other), sentences: 100, language: state.language || null, other_language: state.otherLanguage || null };
  say("Reading the sentences …");
  const found = await ask("compare", body);
  if (!found) { if (held) say(""); return; }
  compareData = found;
  commands.compare = found.command;
  plotGrid();
}

function shade(value) { return `color-mix(in oklab, var(--accent) ${Math.round(Math.max(0, Math.min(1, value)) * 100)}%, var(--card))`; }

function plotGrid() {
  const { grid, languages, models: names } = compareData, svg = $("compare-plot");
  const rows = grid.length, columns = grid[0].length, size = Math.min(200 / columns, 200 / rows);
  const made = [];
  grid.forEach((values, row) => values.forEach((value, column) => {
    const cell = drawn("rect", { class: "cell", x: 36 + column * size, y: 12 + (rows - 1 - row) * size, width: size, height: size, tabindex: 0 });
    cell.style.fill = shade(value);
    cell.append(drawn("title", {}, `layer ${row} and layer ${column}: CKA ${value.toFixed(2)}`));
    const look = () => behind(row, column, value, cell);
    cell.addEventListener("click", look);
    cell.addEventListener("keydown", (event) => { if (event.key === "Enter") look(); });
    made.push(cell);
    if (size > 17) made.push(drawn("text", { x: 36 + (column + .5) * size, y: 12 + (rows - .5 - row) * size + 2.4, "font-size": 6.6, "text-anchor": "middle", "pointer-events": "none" }, value.toFixed(2).replace("0.", ".")));
  }));
  for (let row = 0; row < rows; row++) made.push(drawn("text", { x: 30, y: 12 + (rows - .5 - row) * size + 2.6, "font-size": 7.5, "text-anchor": "end" }, row));
  for (let column = 0; column < columns; column++) made.push(drawn("text", { x: 36 + (column + .5) * size, y: 22 + rows * size, "font-size": 7.5, "text-anchor": "middle" }, column));
  const name = (side) => `${names[side].split("/").pop().slice(0, 28)}, ${languages[side]}`;
  made.push(drawn("text", { x: 36 + columns * size / 2, y: 36 + rows * size, "font-size": 8.5, "text-anchor": "middle" }, `layer of ${name(1)}`));
  made.push(drawn("text", { x: 12, y: 12 + rows * size / 2, "font-size": 8.5, "text-anchor": "middle", transform: `rotate(-90 12 ${12 + rows * size / 2})` }, `layer of ${name(0)}`));
  svg.replaceChildren(...made);
  const best = grid.map((values, row) => [Math.max(...values), row]).sort((one, other) => other[0] - one[0])[0];
  $("compare-caption").textContent = `Debiased CKA on 100 built-in sentences; highest ${best[0].toFixed(2)}, in layer ${best[1]} of the first.`;
  say("");
  save();
}

async function behind(layer, other, value, cell) {
  document.querySelectorAll("rect.cell.on").forEach((each) => each.classList.remove("on"));
  cell.classList.add("on");
  const box = $("compare-cell"), title = node("h2", {}, `Layer ${layer} and layer ${other}: CKA ${value.toFixed(2)}`);
  if (held) { box.replaceChildren(title, node("p", {}, "Sentences behind a cell are shown by isoglot explore.")); return; }
  const found = await ask("cell", { model: Number(state.first), other: Number(state.other), sentences: 100, layer, other_layer: other, language: compareData.languages[0], other_language: compareData.languages[1] });
  if (!found) return;
  const list = (rows) => node("ol", {}, ...rows.map((row) => node("li", {}, row.texts[0], node("br"), node("small", {}, row.texts[1] === row.texts[0] ? "" : row.texts[1]), ` ${row.agreement.toFixed(2)}`)));
  box.replaceChildren(title, node("p", {}, "Sentences whose similarities to all others agree most:"), list(found.most), node("p", {}, "and least:"), list(found.least));
}

function showCompare() {
  const named = models.map((each, number) => [number, each.name]);
  options("compare-model", named, state.first);
  options("compare-other", named, state.other);
  options("compare-language", [["", "default"], ...models[state.first].languages.map((code) => [code, code])], state.language);
  options("compare-other-language", [["", "default"], ...models[state.other].languages.map((code) => [code, code])], state.otherLanguage);
  $("compare-frames").hidden = models.length < 2;
  $("compare-frame").max = models.length - 1;
  $("compare-frame").value = state.other;
  $("compare-frame-shown").textContent = models[state.other].name;
}

// --- state, links, saving ---

function save() {
  if (held) return;
  const kept = Object.fromEntries(Object.entries(state).filter(([, value]) => value !== null && value !== ""));
  history.replaceState(null, "", `${location.pathname}${location.search}#${encodeURIComponent(JSON.stringify(kept))}`);
}

function restore() {
  try {
    const kept = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    for (const [name, value] of Object.entries(kept)) if (name in state && (state[name] === null || typeof value === typeof state[name])) state[name] = value;
    return true;
  } catch { return false; }
}

function noted(text) { $("saved").textContent = text; setTimeout(() => { $("saved").textContent = ""; }, 4000); }

async function copy(text, what) {
  try { await navigator.clipboard.writeText(text); noted(`${what} copied`); } catch { noted(text); }
}

function saveFigure() {
  const svg = document.querySelector(`#${state.view} svg`);
  let text, name, kind;
  if (svg) {
    const alone = svg.cloneNode(true), style = getComputedStyle(document.documentElement);
    const resolve = (value) => value.replace(/var\((--[a-z0-9]+)\)/g, (_, each) => style.getPropertyValue(each).trim());
    const originals = svg.querySelectorAll("*");
    alone.querySelectorAll("*").forEach((each, number) => {
      const now = getComputedStyle(originals[number]);
      each.removeAttribute("style");
      for (const key of ["fill", "stroke", "stroke-opacity", "stroke-width", "opacity", "font-family"]) each.setAttribute(key, resolve(now.getPropertyValue(key)));
    });
    alone.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    [text, name, kind] = [new XMLSerializer().serializeToString(alone), `${state.view}.svg`, "image/svg+xml"];
  } else {
    const table = state.view === "lens" ? [...$("lens-table").rows].map((row) => [...row.cells].map((cell) => cell.textContent).join("\t"))
      : [...document.querySelectorAll("#turn-tokens .token")].map((each) => `${each.querySelector("small").textContent}\t${each.querySelector(".made").textContent}`);
    [text, name, kind] = [table.join("\n"), `${state.view}.tsv`, "text/tab-separated-values"];
  }
  const link = node("a", { href: URL.createObjectURL(new Blob([text], { type: kind })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  noted(`${name} saved`);
}

function play(button, step) {
  if (playing) { clearInterval(playing); playing = null; $("space-play").textContent = $("compare-play").textContent = "Play"; return; }
  button.textContent = "Stop";
  playing = setInterval(step, 1100);
}

const shows = { turn: [showTurn, turn], space: [showSpace, space], lens: [showLens, lens], compare: [showCompare, compare] };
function refresh() { shows[state.view][0](); shows[state.view][1](); }

function open(view) {
  if (playing) play();
  state.view = view;
  document.querySelectorAll("[role=tab]").forEach((tab) => tab.setAttribute("aria-selected", tab.dataset.view === view));
  document.querySelectorAll("[role=tabpanel]").forEach((panel) => { panel.hidden = panel.id !== view; });
  $("save-command").hidden = view === "lens";
  say("");
  refresh();
}

function defaults() {
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
  document.querySelectorAll("[role=tab]").forEach((tab) => tab.addEventListener("click", () => open(tab.dataset.view)));
  $("model").addEventListener("change", () => { state.model = Number($("model").value); state.layer = null; state.languages = []; spaceData = null; defaults(); refresh(); });
  $("turn-text").addEventListener("input", () => { state.text = $("turn-text").value.slice(0, 500); soon(turn, 150); });
  $("lens-text").addEventListener("input", () => { state.lensText = $("lens-text").value.slice(0, 500); soon(lens, 200); });
  for (const name of ["alpha", "alpha2", "layer"]) $(`turn-${name}`).addEventListener("input", () => { state[name] = Number($(`turn-${name}`).value); showSliders(); turnSoon(); });
  $("turn-method").addEventListener("change", () => { state.method = $("turn-method").value; turn(); });
  $("turn-measured").addEventListener("click", () => { measured(); showTurn(); turn(); });
  $("space-layer").addEventListener("input", () => { state.spaceLayer = Number($("space-layer").value); plotSpace(false); });
  $("space-projection").addEventListener("change", () => { state.projection = $("space-projection").value; space(); });
  $("space-sentences").addEventListener("change", () => { state.sentences = Number($("space-sentences").value); space(); });
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
  for (const [id, name] of [["compare-model", "first"], ["compare-other", "other"]]) $(id).addEventListener("change", () => { state[name] = Number($(id).value); showCompare(); compare(); });
  for (const [id, name] of [["compare-language", "language"], ["compare-other-language", "otherLanguage"]]) $(id).addEventListener("change", () => { state[name] = $(id).value; compare(); });
  $("compare-frame").addEventListener("input", () => { state.other = Number($("compare-frame").value); showCompare(); compare(); });
  $("compare-play").addEventListener("click", () => play($("compare-play"), () => { state.other = (Number(state.other) + 1) % models.length; showCompare(); compare(); }));
  $("save-link").addEventListener("click", () => copy(location.href, "Link"));
  $("save-figure").addEventListener("click", saveFigure);
  $("save-command").addEventListener("click", () => commands[state.view] ? copy(commands[state.view], "Command") : noted("The command line has no verb for this."));
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
    const answer = await fetch("api/models", { headers: { "x-isoglot-token": token } }).catch(() => null);
    if (!answer || !answer.ok) { say(answer ? (await answer.json()).error : "The server is gone."); return; }
    models = (await answer.json()).models;
    restore();
  }
  say("");
  options("model", models.map((each, number) => [number, each.name]), state.model);
  if (!(state.model < models.length)) state.model = 0;
  defaults();
  if (models.length > 1 && !held && !location.hash) state.other = 1;
  wire();
  open(shows[state.view] ? state.view : "turn");
}
begin();
