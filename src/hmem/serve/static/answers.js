// The ranked answers, with bars. When facts change, rows move to their new places instead of jumping there.

import { bar, button, count, decimal, el, factKey, factLine, isGiven, mayMove, nameSpan, percent } from "./dom.js";
import { markBefore } from "./kinds.js";
import { inWords } from "./times.js";

export const FIRST = 10; // answers asked for at once
const MORE = { 10: 25, 25: 60 };
const CALIBRATED = "Calibrated probabilities: of answers given 70\u00a0%, about 70 in 100 hold.";
const AGAINST =
  " The order compares all candidates, and the percentage judges each answer alone; here the two differ.";

export class Answers {
  /** `onToggle(row, container)` opens or closes reasons, `onMore(k)` asks for more, `onMoved(first)`: a new order. */
  constructor(root, { onToggle, onMore, onMoved }) {
    Object.assign(this, { root, onToggle, onMore, onMoved });
    this.clear();
    root.addEventListener("keydown", (event) => this.key(event));
  }

  clear() {
    this.busy(false);
    this.rows = new Map(); // key of the fact -> {row, item, button, reasons}
    this.question = null;
    this.open = null; // the key whose reasons are shown
    this.list = null;
    this.root.replaceChildren();
  }

  busy(is) {
    this.root.setAttribute("aria-busy", String(is));
  }

  /** Answers are on their way. Those to the same question stay until then. */
  wait(question) {
    if (question !== this.question || !this.list) {
      this.say(el("p", { class: "waiting", role: "status" }, "Computing the answers …"));
    }
    this.busy(true);
  }

  /** In place of answers: why there are none, and what to do about it. */
  say(...parts) {
    this.clear();
    this.root.append(el("div", { class: "said" }, ...parts));
  }

  /**
   * `rows` are [{fact, name, rank, score, probability, stored, later}], best first; `later` is the day on which an
   * answer came true. `question` is text that differs between questions: within the same one, rows move and show by how
   * much. `entity` is the name that need not be repeated.
   */
  show(rows, { question, entity, missing, k }) {
    const same = question === this.question && this.list !== null;
    if (!same) this.clear();
    this.busy(false);
    this.question = question;
    if (!rows.length) {
      this.say(el("p", {}, missing ? "No missing fact is likely." : "There are no candidates to rank."));
      return;
    }
    const before = same ? this.places() : new Map();
    const ranks = new Map([...this.rows].map(([key, { row }]) => [key, row.rank]));
    const scale = barScale(rows);
    const kept = new Map();
    for (const row of rows) {
      const key = factKey(row.fact);
      const entry = this.rows.get(key) ?? this.make(key);
      entry.row = row;
      const was = same && k === this.k ? ranks.get(key) ?? "new" : undefined; // a longer list is no change
      this.fill(entry, scale, { entity, missing, was });
      kept.set(key, entry);
    }
    this.rows = kept;
    this.k = k;
    if (this.open && !kept.has(this.open)) this.open = null;
    this.list ??= el("ol", { class: missing ? "ranking missing" : "ranking" });
    const held = this.list.contains(document.activeElement) ? document.activeElement : null; // moving would lose it
    this.list.replaceChildren(...[...kept.values()].map((entry) => entry.item));
    const isCut = MORE[k] && rows.length >= k;
    const more = isCut ? button("more answers", "quiet", () => this.onMore(MORE[k]), { id: "more" }) : null;
    const foot = el("p", { class: "caption" }, proven(rows), scale.said, more);
    this.root.replaceChildren(this.list, foot);
    if (held?.isConnected) held.focus({ preventScroll: true });
    if (same) this.animate(before);
    const moved = same && rows.some((row) => ranks.get(factKey(row.fact)) !== row.rank);
    if (moved && ranks.size === rows.length) this.onMoved(rows[0]);
  }

  make(key) {
    const entry = { key, reasons: el("div", { class: "reasons", hidden: true }) };
    entry.button = button("", "answer", () => this.toggle(entry), { "aria-expanded": "false" });
    entry.item = el("li", {}, entry.button, entry.reasons);
    return entry;
  }

  fill({ row, item, button }, scale, { entity, missing, was }) {
    const moved = was === undefined ? null : was === "new" ? "new" : was - row.rank;
    const way = moved === "new" ? "new" : moved > 0 ? "up" : moved < 0 ? "down" : "";
    const change = { new: "new", up: `▲ ${moved}`, down: `▼ ${-moved}` }[way] ?? "";
    const label = { new: "new in this list", up: `up ${moved}`, down: `down ${-moved}` }[way];
    button.replaceChildren(
      el("span", { class: "rank" }, String(row.rank)),
      el("span", { class: "what" },
        ...(missing ? [factLine(row.fact, entity, markBefore)] : [markBefore(row.name), nameSpan(row.name)])),
      el("span", { class: `change ${way === "down" ? "" : "up"}`, role: label && "img", "aria-label": label }, change),
      row.later ? cameTrue(row.later) : storedOrNot(row),
      el("span", { class: "value" }, scale.value(row)),
      bar(scale.part(row), scale.calibrated ? "bar" : "bar relative"),
    );
    item.classList.toggle("is-stored", Boolean(row.stored));
  }

  /** Open the reasons of a row and close others. */
  toggle(entry) {
    const opening = this.open !== entry.key;
    for (const each of this.rows.values()) this.fold(each);
    this.open = opening ? entry.key : null;
    if (opening) {
      entry.button.setAttribute("aria-expanded", "true");
      entry.reasons.hidden = false;
    }
    this.onToggle(opening ? entry.row : null, entry.reasons);
  }

  fold({ button, reasons }) {
    button.setAttribute("aria-expanded", "false");
    reasons.hidden = true;
    reasons.replaceChildren();
  }

  /** The open row and where its reasons go, or null. */
  opened() {
    const entry = this.open && this.rows.get(this.open);
    return entry ? { row: entry.row, container: entry.reasons } : null;
  }

  /** Open the row of this fact; false if it is not among the answers. */
  openFact(fact) {
    const entry = this.rows.get(factKey(fact));
    if (entry && this.open !== entry.key) this.toggle(entry);
    return entry !== undefined;
  }

  closeOpen() {
    const entry = this.open && this.rows.get(this.open);
    if (entry) this.toggle(entry);
  }

  key(event) {
    const buttons = [...this.root.querySelectorAll("button.answer")];
    const here = buttons.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape" && this.open) {
      const { button } = this.rows.get(this.open);
      this.closeOpen();
      button.focus();
    } else if (step && here >= 0) {
      buttons[Math.min(buttons.length - 1, Math.max(0, here + step))].focus();
    } else return;
    event.preventDefault();
  }

  places() {
    return new Map([...this.rows].map(([key, { item }]) => [key, item.getBoundingClientRect().top]));
  }

  /** Let every row travel from where it was to where it is now. */
  animate(before) {
    if (!mayMove()) return;
    for (const [key, { item }] of this.rows) {
      const was = before.get(key);
      const by = was === undefined ? null : was - item.getBoundingClientRect().top;
      const frames = by === null
        ? [{ opacity: 0, transform: "translateX(12px)" }, { opacity: 1, transform: "none" }]
        : [{ transform: `translateY(${by}px)` }, { transform: "none" }];
      if (by !== 0) item.animate(frames, { duration: 520, easing: "cubic-bezier(.2,.7,.2,1)" });
    }
  }
}

function storedOrNot({ stored, inferred_by: model }) {
  if (model) return el("span", { class: "stored guess", title: `inferred by ${model}` }, "inferred");
  return el("span", { class: "stored" }, stored ? "stored" : "");
}

/** The mark of an answer that was not stored then and is now. */
function cameTrue(day) {
  const told = `came true later: stored from ${inWords(day)}`;
  return el("span", { class: "stored later", title: told },
    el("span", { "aria-hidden": "true" }, `✓ ${inWords(day, "short")}`),
    el("span", { class: "visually-hidden" }, told));
}

/** How many of the answers of then came true. */
function proven(rows) {
  const open = rows.filter((row) => !row.stored);
  const many = open.filter((row) => row.later).length;
  return many ? `${count(many)} of the ${count(open.length)} that were not stored then came true (✓). ` : null;
}

/** Whether a row has a larger percentage than the one above it, as they are read. */
function runsAgainst(rows) {
  return rows.some(({ probability }, place) => {
    const above = rows[Math.max(0, place - 1)].probability;
    return probability > above && percent(probability) !== percent(above);
  });
}

/** How answers become bars: probabilities as they are, bare scores only beside each other and never as a percentage. */
function barScale(rows) {
  if (rows.every((row) => isGiven(row.probability))) {
    return {
      calibrated: true,
      part: (row) => row.probability,
      value: (row) => percent(row.probability),
      said: CALIBRATED + (runsAgainst(rows) ? AGAINST : ""),
    };
  }
  const scores = rows.map((row) => row.score).filter((score) => score !== null);
  const [low, high] = [Math.min(...scores), Math.max(...scores)];
  return {
    calibrated: false,
    part: (row) => (row.score === null ? 0 : high > low ? 0.04 + 0.96 * ((row.score - low) / (high - low)) : 1),
    value: (row) => decimal(row.score),
    said:
      "Scores, not probabilities, since the model is not calibrated: bars run from the last to the best of these " +
      `${count(rows.length, "answer")}.`,
  };
}
