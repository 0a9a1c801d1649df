// Building blocks: elements, numbers and facts as they are typeset everywhere on the page.
// Names come from the graph and may hold anything, so text is only ever set as text, never parsed as HTML.

import { called, relationCalled } from "./names.js";

const SVG = "http://www.w3.org/2000/svg";

/** An element: el("a", {href: "/", class: "name"}, "text", anotherElement). Keys that start with "on" are listeners. */
export function el(tag, attributes = {}, ...children) {
  return dress(document.createElement(tag), attributes, children);
}

/** The same for drawings. */
export function svg(tag, attributes = {}, ...children) {
  return dress(document.createElementNS(SVG, tag), attributes, children);
}

/** A button: button("Undo", "quiet", () => …, {id: "undo"}). */
export function button(text, kind, onclick, attributes = {}) {
  return el("button", { type: "button", class: kind, onclick, ...attributes }, text);
}

/** Whether there is a value at all; the server leaves out what it has not. */
export function isGiven(value) {
  return value !== null && value !== undefined;
}

/** A bar that is filled up to a part of its length. */
export function bar(part, kind = "bar") {
  const fill = el("span", { class: "fill" });
  fill.style.setProperty("width", `${100 * part}%`);
  return el("span", { class: kind, "aria-hidden": "true" }, fill);
}

function dress(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (!isGiven(value) || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children.filter(isGiven)); // strings become text nodes
  return element;
}

/** Whether things may move on the screen. */
export function mayMove() {
  return !matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** 15542 -> "15,542". */
export function count(number, one, many = `${one}s`) {
  const digits = number.toLocaleString("en");
  return one === undefined ? digits : `${digits} ${number === 1 ? one : many}`;
}

/** A calibrated probability, the only thing shown as a percentage of belief. */
export function percent(probability) {
  if (probability >= 0.9995) return ">99.9 %";
  if (probability < 0.001) return "<0.1 %";
  return `${(100 * probability).toFixed(1)} %`;
}

/** A part of a whole, roughly: 0.954 -> "95 %". */
export function share(part) {
  const size = Math.abs(part);
  const sign = part < 0 ? "−" : "";
  if (size > 0 && size < 0.01) return `${sign}<1 %`;
  return `${sign}${Math.round(100 * size)} %`;
}

/** A score or a weight; there are answers that nothing speaks for, and they have none. */
export function decimal(number, digits = 2) {
  if (!isGiven(number)) return "–";
  return number.toFixed(digits).replace("-", "−");
}

/** One string for one fact, to compare and to look up. */
export function factKey([head, relation, tail]) {
  return JSON.stringify([head, relation, tail]);
}

const LONG = 90; // characters of a name that are shown in a line

/** A name that can be seen: not longer than a line or two, and without what would be invisible. */
export function shown(name, most = LONG) {
  const start = [...name.slice(0, 2 * most)]; // whole characters; some count twice in JavaScript
  const text = start.length > most || start.join("") !== name ? `${start.slice(0, most - 1).join("")}…` : name;
  const blanks = (spaces) => "␣".repeat(spaces.length);
  return text.replace(/^ +| +$/g, blanks).replaceAll("\n", "⏎").replaceAll("\t", "⇥");
}

/** An entity in running text: its label, and its id small beside it where they differ. */
export function nameSpan(id, kind = "name") {
  const text = shown(called(id));
  const label = el("span", { class: kind, title: text === id ? null : id }, text);
  if (called(id) === id || kind !== "name") return label;
  return el("span", { class: "labelled" }, label, " ", el("span", { class: "id" }, shown(id, 40)));
}

/** A message of the server as a sentence. */
export function sentence(text) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?…]$/.test(text) ? "" : "."}`;
}

const VIEW = ["kind", "entity", "relation", "direction", "answer", "at"]; // what makes an address

/** The address of an entity and a question, as the page itself understands it. */
export function address(view) {
  const query = new URLSearchParams();
  for (const key of VIEW) if (view[key]) query.set(key, view[key]);
  const text = query.toString();
  return text ? `/?${text}` : "/";
}

/** A link to an entity. main.js follows it without loading the page again. */
export function entityLink(name, attributes = {}) {
  const text = shown(called(name));
  const title = text === name ? null : name;
  return el("a", { class: "name", href: address({ entity: name }), title, ...attributes }, text);
}

/** A relation by its name, with an arrow from head to tail: "forth" behind it, or "back" before it. */
export function relationWord(relation, way = "forth") {
  return el("i", { class: `relation ${way}` }, shown(relationCalled(relation)));
}

/** A fact on one line: head, relation, tail. `dim` is the name the reader knows; `mark(id)` stands before others. */
export function factLine([head, relation, tail], dim = null, mark = () => null) {
  const name = (id) => (id === dim ? nameSpan(id, "name dim") : el("span", {}, mark(id), nameSpan(id)));
  return el("span", { class: "fact" }, name(head), " ", relationWord(relation), " ", name(tail));
}

/** Facts along a walk that starts at `start`, each with an arrow that points from its head to its tail. */
export function chainLine(start, facts) {
  const line = el("span", { class: "fact" }, nameSpan(start, "name dim"));
  let here = start;
  for (const [head, relation, tail] of facts) {
    const forth = head === here;
    here = forth ? tail : head;
    line.append(" ", relationWord(relation, forth ? "forth" : "back"), " ", nameSpan(here));
  }
  return line;
}
