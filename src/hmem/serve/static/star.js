// The neighborhood of an entity as a drawn star: one spoke for each fact, its weight in the memory as line weight.
// With the reasons of an answer open, what contributed is highlighted, and paths are drawn on to the answer.

import { arrange, fillerOf, keyOf, place } from "./arrange.js";
import { address, count, decimal, factKey, isGiven, shown, svg } from "./dom.js";
import { originOf } from "./inferred.js";
import { lookOf, outline } from "./kinds.js";
import { drawLegend, scaleOf } from "./legend.js";
import { called, kindOf, readFrom, relationCalled } from "./names.js";
import { drawPaths } from "./paths.js";

const INFERRED = 6; // facts that are drawn because a model inferred them, however many there are
const FRESH = 900; // ms in which a new fact grows into the drawing
const BUDGET = { wide: { spokes: 24, roles: 10 }, narrow: { spokes: 12, roles: 8 } };

export class Star {
  /** `onAsk(relation, role)` when a role is clicked. */
  constructor(root, legend, { onAsk }) {
    Object.assign(this, { root, legend, onAsk, data: null, opened: new Set() });
    this.without = new Set(); // kinds that are not drawn
    this.ruler = document.createElement("canvas").getContext("2d");
    this.font = getComputedStyle(root).fontFamily;
    new ResizeObserver(() => this.data && root.clientWidth !== this.width && this.draw()).observe(root);
    root.addEventListener("keydown", (event) => this.key(event));
  }

  /**
   * Show {entity, facts, question, fresh, total, modeled, caption}. `question` is {relation, role} or null; `fresh`
   * the keys of facts that have just come; `total` counts facts that were not sent too; `caption` begins the legend.
   */
  show(data) {
    if (data.entity !== this.data?.entity) this.opened.clear();
    if (data.fresh !== this.data?.fresh) this.freshUntil = performance.now() + FRESH;
    const same = this.data && asksFor(data) === asksFor(this.data);
    this.data = { ...data, reasons: same ? this.data.reasons : null };
    this.draw();
  }

  /**
   * Highlight what an explanation rests on: {entity, answer, marks, paths, weights}; or null. `marks` is a map from the
   * key of a fact to its part as text, `weights` one to weights where the facts have none.
   */
  explain(reasons) {
    if (!this.data || (!reasons && !this.data.reasons)) return;
    this.data = { ...this.data, reasons };
    this.draw();
  }

  clear() {
    this.data = null;
    this.root.replaceChildren();
    this.legend.replaceChildren();
  }

  draw() {
    const { entity, reasons } = this.data;
    const all = withWeights(this.data.facts, reasons?.weights);
    const facts = all.filter((fact) => !this.without.has(kindOf(fillerOf(fact))));
    const held = document.activeElement?.closest?.(".star") ? document.activeElement.getAttribute("data-key") : null;
    this.width = this.root.clientWidth;
    const budget = this.width < 540 ? BUDGET.narrow : BUDGET.wide;
    const keep = new Set(reasons ? [...reasons.marks.keys(), ...reasons.paths.map((path) => factKey(path[0]))] : []);
    for (const key of this.data.fresh ?? []) keep.add(key);
    for (const fact of facts.filter(originOf).slice(0, INFERRED)) keep.add(keyOf(fact));
    const { groups, rest } = arrange(facts, { ...budget, keep, opened: this.opened, asked: this.data.question });
    const roles = groups.map((group) => this.measure(readFrom(group.role, group.relation, shown)));
    const fillers = groups.flatMap((group) => group.shown.map(fillerOf));
    const names = fillers.map((name) => this.measure(shown(called(name))) + 40); // and its share
    const plan = place(groups, this.width, Math.max(0, ...roles, ...names));
    this.scale = scaleOf(facts);
    const spokes = svg("g", { class: "spokes" });
    const labels = svg("g", { class: "labels" });
    for (const line of plan.lines) {
      if (line.kind === "fact") this.drawFact(line, plan, spokes, labels);
      else if (line.kind === "role") labels.append(this.drawRole(line, plan));
      else labels.append(this.drawMore(line));
    }
    const told = `The facts of ${shown(called(entity ?? ""))}, drawn as a star`;
    const drawing = svg("svg", { role: "group", "aria-label": told }, chart(plan));
    const extra = reasons ? drawPaths(plan, reasons) : { height: 0, under: [], over: [] };
    drawing.append(...extra.under, spokes, labels, ...extra.over);
    drawing.append(svg("circle", { class: "hub", cx: plan.hub.x, cy: plan.hub.y, r: 6.5 }));
    drawing.append(svg("circle", { class: "hub-core", cx: plan.hub.x, cy: plan.hub.y, r: 2.5 }));
    const height = plan.height + extra.height;
    drawing.setAttribute("viewBox", `0 0 ${plan.width} ${height}`);
    drawing.setAttribute("height", height);
    this.root.replaceChildren(drawing);
    this.rove(held);
    const open = (key) => {
      this.opened.add(key);
      this.draw();
    };
    const question = this.data.question ?? reasons;
    const toggle = (kind) => {
      if (!this.without.delete(kind)) this.without.add(kind);
      this.draw();
    };
    drawLegend(this.legend, { ...this.data, question, without: this.without }, this.scale, rest, { open, toggle });
  }

  drawFact(line, { hub }, spokes, labels) {
    const { fact, sign, x, y, start } = line;
    const name = fillerOf(fact);
    const key = keyOf(fact);
    const part = this.data.reasons?.marks.get(key);
    const state = part !== undefined ? "marked" : this.data.reasons ? "faded" : "";
    const isFresh = this.data.fresh?.has(key) && performance.now() < this.freshUntil;
    const origin = originOf(fact);
    const kind = (what) => `${what} ${state} ${isFresh ? "fresh" : ""} ${origin ? "inferred" : ""}`;
    const bend = hub.x + (x - hub.x) * 0.55;
    const path = svg("path", { class: kind("spoke"), d: `M${hub.x} ${hub.y}Q${bend} ${y} ${x} ${y}` });
    if (isFresh && !origin) path.setAttribute("pathLength", 1); // it grows
    path.style.setProperty("stroke-width", `${this.scale.width(fact.weight)}px`);
    const what = kindOf(name);
    const end = { class: `${kind("dot")} ${lookOf(what)}`, transform: `translate(${x} ${y})` };
    spokes.append(path, svg("path", { ...end, d: outline(what, this.scale.dot(fact.weight) + (what ? 1.4 : 0)) }));
    const room = (sign > 0 ? this.width - start : start) - 4 - (part ? 48 : 0);
    const text = svg("text", { x: start, y, dy: "0.32em", "text-anchor": sign > 0 ? "start" : "end" });
    const label = svg("tspan", {}, this.fit(called(name), room));
    const said = part ? svg("tspan", { class: "share" }, part) : null;
    if (said) said.setAttribute("dx", sign > 0 ? 7 : 0);
    if (said && sign < 0) label.setAttribute("dx", 7);
    text.append(...(sign > 0 ? [label, said ?? ""] : [said ?? "", label]));
    const weight = isGiven(fact.weight) ? `, weight ${decimal(fact.weight)}` : "";
    const inFull = (id) => (called(id) === id ? id : `${called(id)} (${id})`);
    const read = `${inFull(fact.head)} ${relationCalled(fact.relation)} ${inFull(fact.tail)}`;
    const besides = [origin, what && `${called(name)} is of the kind ${what}`, fact.source && `from ${fact.source}`];
    const told = [`${read}${weight}`, ...besides].filter(Boolean).join("; ");
    const attributes = { class: kind("filler"), href: address({ entity: name }), "data-key": key, "aria-label": told };
    labels.append(svg("a", attributes, svg("title", {}, told), text));
  }

  drawRole({ group, sign, start, y }, { fan }) {
    const relation = relationCalled(group.relation);
    const words = readFrom(fan ? group.role : "head", group.relation, shown);
    const { question } = this.data;
    const asked = question && question.relation === group.relation && question.role === group.role;
    const ask = () => this.onAsk(group.relation, group.role);
    const itself = called(this.data.entity ?? "");
    const ends = group.role === "head" ? [itself, "?"] : ["?", itself];
    const told = `Ask: ${ends[0]} ${relation} ${ends[1]}`;
    const text = svg("text", { x: start, y, dy: "0.38em", "text-anchor": sign > 0 ? "start" : "end" });
    text.append(this.fit(words, (sign > 0 ? this.width - start : start) - 4));
    const attributes = { class: asked ? "role asked" : "role", "data-key": group.key, "aria-label": told };
    return svg("g", { ...attributes, role: "button", onclick: ask }, svg("title", {}, told), text);
  }

  drawMore({ group, sign, start, y }) {
    const text = svg("text", { x: start, y, dy: "0.32em", "text-anchor": sign > 0 ? "start" : "end" });
    text.append(group.shown.length ? `${count(group.hidden)} more` : count(group.hidden, "fact"));
    if (this.opened.has(group.key)) return svg("g", { class: "more" }, text); // there is no room for these
    const told = `Show the other facts of ${relationCalled(group.relation)}`;
    const open = () => {
      this.opened.add(group.key);
      this.draw();
    };
    const attributes = { class: "more", "data-key": `more ${group.key}`, "aria-label": told };
    return svg("g", { ...attributes, role: "button", onclick: open }, text);
  }

  /** The text, shortened to so many pixels; its full form is in the title. */
  fit(text, room) {
    const whole = shown(text);
    if (this.measure(whole) <= room) return whole;
    const letters = [...whole];
    while (letters.length > 3 && this.measure(`${letters.join("")}…`) > room) letters.pop();
    return `${letters.join("")}…`;
  }

  measure(text) {
    this.ruler.font = `15px ${this.font}`;
    return this.ruler.measureText(text).width;
  }

  // One stop for the Tab key; the arrows move between names and roles, Enter follows.

  stops() {
    return [...this.root.querySelectorAll("[data-key]")];
  }

  rove(held) {
    const stops = this.stops();
    const current = stops.find((stop) => stop.getAttribute("data-key") === held) ?? stops[0];
    for (const stop of stops) stop.setAttribute("tabindex", stop === current ? "0" : "-1");
    if (held && current) current.focus({ preventScroll: true });
  }

  key(event) {
    const stops = this.stops();
    const here = stops.indexOf(document.activeElement);
    if (here < 0) return;
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (step) {
      const next = stops[(here + step + stops.length) % stops.length];
      for (const stop of stops) stop.setAttribute("tabindex", stop === next ? "0" : "-1");
      next.focus();
    } else if ((event.key === "Enter" || event.key === " ") && stops[here].getAttribute("role") === "button") {
      stops[here].dispatchEvent(new MouseEvent("click", { bubbles: true }));
    } else return;
    event.preventDefault();
  }
}

/** Entity and question as one text. */
function asksFor({ entity, question }) {
  return JSON.stringify([entity, question ?? null]);
}

function withWeights(facts, weights) {
  if (!weights) return facts;
  return facts.map((fact) => ({ ...fact, weight: weights.get(keyOf(fact)) ?? null }));
}

/** The fine circles behind the star, graduated like an instrument; half of them where there is no room for all. */
function chart({ hub, reach, half, whole }) {
  const lines = svg("g", { class: "chart", "aria-hidden": "true" });
  for (const part of [1 / 3, 2 / 3, 1]) {
    const [rx, ry] = [reach * part, half * part];
    const right = `M${hub.x} ${hub.y - ry}a${rx} ${ry} 0 0 1 0 ${2 * ry}`;
    const d = whole ? `${right}a${rx} ${ry} 0 0 1 0 ${-2 * ry}` : right;
    lines.append(svg("path", { class: part < 1 ? "inner" : "outer", d }));
  }
  const ticks = [];
  for (let degree = -90; degree < (whole ? 270 : 91); degree += 5) {
    const angle = (degree * Math.PI) / 180;
    const long = degree % 30 === 0 ? 7 : 3.5;
    const [x, y] = [Math.cos(angle), Math.sin(angle)];
    ticks.push(`M${hub.x + x * reach} ${hub.y + y * half}L${hub.x + x * (reach - long)} ${hub.y + y * (half - long)}`);
  }
  lines.append(svg("path", { d: ticks.join("") }));
  return lines;
}
