// The time slider: how the facts of an entity came, and what was likely before they did. It is there only where facts
// have days. Moving it changes nothing that is stored.

import { keyOf } from "./arrange.js";
import { button, count, el, svg } from "./dom.js";

const MOST = 40; // stops; days are put together to months, quarters or years until there are no more than that
const REST = 1100; // ms at least at each stop while it plays
const GROWN = 6; // of the facts that came with a step, so many are pointed out
const HEIGHT = 26; // of the curve above the slider
const [DAY, MONTH, QUARTER, YEAR] = ["day", "month", "quarter", "year"];

/** Whether a fact held on a day such as "2019-05-01"; one without days always does. */
export function holds({ valid_from: from, valid_until: until }, day) {
  return day === null || ((!from || from <= day) && (!until || until >= day));
}

/** The facts that began after a day, with the first of their days, by key; none after now. */
export function comingAfter(facts, day) {
  const later = day === null ? [] : facts.filter((fact) => fact.valid_from > day);
  return new Map(later.map((fact) => [keyOf(fact), fact.valid_from]));
}

/** The keys of a few facts that hold now and did not on a day before. */
export function grown(facts, day, now) {
  if (now !== null && now < day) return null;
  return new Set(facts.filter((fact) => !holds(fact, day)).slice(0, GROWN).map(keyOf));
}

/** A day in words, as exactly as `unit` says. */
export function inWords(day, unit = DAY) {
  const date = new Date(`${day}T00:00Z`);
  const year = String(date.getUTCFullYear());
  if (unit === YEAR) return year;
  if (unit === QUARTER) return `quarter ${1 + Math.floor(date.getUTCMonth() / 3)} of ${year}`;
  const parts = { month: unit === "short" ? "short" : "long", year: "numeric", timeZone: "UTC" };
  return new Intl.DateTimeFormat("en-GB", unit === DAY ? { ...parts, day: "numeric" } : parts).format(date);
}

/** The stops of the slider, [{at, text}]: each the last day of a stretch on which something began or had ended. */
export function stopsOf(facts) {
  const days = new Set(facts.flatMap(({ valid_from: from, valid_until: until }) => [from, until && dayAfter(until)]));
  const sorted = [...days].filter(Boolean).sort();
  for (const unit of [DAY, MONTH, QUARTER, YEAR]) {
    const stops = new Map(sorted.map((day) => [stretchOf(day, unit), { at: day, text: inWords(day, unit) }]));
    if (stops.size <= MOST || unit === YEAR) return [...stops.values()];
  }
  return [];
}

function stretchOf(day, unit) {
  const [year, month] = day.split("-");
  if (unit === QUARTER) return `${year} ${Math.floor((month - 1) / 3)}`;
  return { [DAY]: day, [MONTH]: `${year} ${month}`, [YEAR]: year }[unit];
}

function dayAfter(day) {
  const date = new Date(`${day}T00:00Z`);
  date.setUTCDate(date.getUTCDate() + 1);
  return date.toISOString().slice(0, 10);
}

export class Times {
  /** `onMove(at)` shows the page as of a day, or of now (null); it returns when that is done. */
  constructor(root, { onMove }) {
    Object.assign(this, { root, onMove, stops: [], isPlaying: false });
    this.play = button("▶ Play", "quiet play", () => (this.isPlaying ? this.stop() : this.run()));
    this.input = el("input", { type: "range", id: "time", min: 0, step: 1, "aria-label": "Facts as of" });
    this.said = el("output", { class: "as-of", for: "time" });
    this.curve = svg("svg", { class: "growth", height: HEIGHT, preserveAspectRatio: "none", "aria-hidden": "true" });
    this.now = button("Now", "quiet", () => this.go(this.stops.length));
    this.input.addEventListener("input", () => {
      this.stop();
      this.go(Number(this.input.value));
    });
    const track = el("div", { class: "track" }, this.curve, this.input);
    root.append(this.play, track, this.said, this.now);
    root.hidden = true;
  }

  /** The slider for these facts of an entity, at a day or now. */
  show(entity, facts, at) {
    if (entity !== this.entity) this.stop();
    Object.assign(this, { entity, facts });
    this.stops = stopsOf(facts);
    this.root.hidden = this.stops.length < 2;
    if (this.root.hidden) return;
    this.input.max = this.stops.length; // the last place is now
    const before = this.stops.filter((stop) => stop.at <= at).length;
    this.tell(at === null ? this.stops.length : Math.max(0, before - 1), at);
    this.draw();
  }

  clear() {
    this.stop();
    this.root.hidden = true;
  }

  at(place) {
    return this.stops[place]?.at ?? null;
  }

  /** Say what is shown; a day of a deep link need not be a stop. */
  tell(place, at = this.at(place)) {
    this.place = place;
    this.input.value = place;
    const held = this.facts.filter((fact) => holds(fact, at)).length;
    const all = this.facts.length;
    const when = at === null ? "now" : at === this.at(place) ? this.stops[place].text : inWords(at);
    const many = held === all ? count(held, "fact") : `${count(held)} of ${count(all, "fact")}`;
    this.said.replaceChildren(el("strong", {}, when), " ", el("span", {}, many));
    this.input.setAttribute("aria-valuetext", `${when}, ${many}`);
    this.now.disabled = at === null;
  }

  /** How many facts held at each stop, as steps. */
  draw() {
    const heldAt = ({ at }) => this.facts.filter((fact) => holds(fact, at)).length;
    const many = [...this.stops.map(heldAt), this.facts.length];
    const top = Math.max(...many, 1);
    const last = many.length - 1;
    const width = Math.min(0.64, 0.03 * last); // the outermost bars stand over the ends of the slider
    const bars = many.map((each, place) => svg("rect", {
      x: place - width / 2, width, y: HEIGHT * (1 - each / top), height: Math.max(1, (HEIGHT * each) / top),
      class: place === this.place ? "here" : place < this.place ? "past" : "",
    }));
    this.curve.setAttribute("viewBox", `0 0 ${last} ${HEIGHT}`);
    this.curve.replaceChildren(...bars);
  }

  async go(place) {
    this.tell(place);
    this.draw();
    await this.onMove(this.at(place));
  }

  /** From here, or from the beginning if this is the end, to now; each stop stays until its answers are there. */
  async run() {
    this.isPlaying = true;
    this.play.textContent = "❚❚ Pause";
    let place = this.place >= this.stops.length ? -1 : this.place;
    const { entity } = this;
    while (this.isPlaying && this.entity === entity && place < this.stops.length) {
      place += 1;
      await Promise.all([this.go(place), new Promise((done) => setTimeout(done, REST))]);
    }
    if (this.entity === entity) this.stop();
  }

  stop() {
    this.isPlaying = false;
    this.play.textContent = "▶ Play";
  }
}
