// The values of an entity: numbers, dates and texts that its properties say, as a table.

import { count, el, shown } from "./dom.js";
import { inWords } from "./times.js";

const AT_ONCE = 8; // rows that are shown without asking
const NUMBERS = ["xsd:integer", "xsd:decimal", "xsd:double", "xsd:float", "xsd:long", "xsd:int"];

/** A table of `values` as the server lists them; null where there are none. */
export function valueTable(values) {
  if (!values.length) return null;
  const rest = values.length > AT_ONCE + 2 ? values.slice(AT_ONCE) : [];
  const table = (some, caption) => el("table", { class: "values" }, caption, el("tbody", {}, ...some.map(row)));
  const title = el("caption", { class: "visually-hidden" }, "Values");
  return el("div", {}, table(values.slice(0, values.length - rest.length), title), rest.length
    ? el("details", {}, el("summary", { class: "caption" }, `${count(rest.length)} more values`), table(rest))
    : null);
}

function row(value) {
  const { property, label, source } = value;
  const said = readable(value);
  const full = said === value.text ? null : value.text;
  const isNumber = NUMBERS.includes(value.datatype);
  return el("tr", {},
    el("th", { scope: "row", title: label ? property : null }, shown(label ?? property, 60)),
    el("td", { class: isNumber ? "number" : null, title: full, lang: value.language || null }, said,
      value.unit ? el("span", { class: "unit" }, ` ${shown(value.unit, 30)}`) : null),
    el("td", { class: "aside" }, source ? shown(source, 40) : ""));
}

/** A value as one reads it: digits in groups, days in words; anything else as it was written. */
export function readable({ text, datatype }) {
  const [whole, digits = ""] = text.split(".");
  if (NUMBERS.includes(datatype) && /^[+-]?\d{5,15}(\.\d+)?$/.test(text)) {
    return BigInt(whole).toLocaleString("en") + (digits && `.${digits}`); // four digits may well be a year
  }
  if (datatype === "xsd:date" && isDay(text)) return inWords(text);
  if (datatype === "xsd:gYearMonth" && isDay(`${text}-01`)) return inWords(`${text}-01`, "month");
  if (datatype === "xsd:boolean") return { true: "yes", 1: "yes", false: "no", 0: "no" }[text] ?? text;
  return shown(text, 600);
}

function isDay(text) {
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00Z`));
}
