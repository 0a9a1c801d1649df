// Stored facts of an entity that the others speak against, looked for when a reader wants to know.

import * as api from "./api.js";
import { button, count, el, factLine, isGiven, nameSpan, percent, sentence } from "./dom.js";
import { markBefore } from "./kinds.js";

const SHOWN = 5;

export class Doubts {
  /** `onChange("removed", fact)` removes one. */
  constructor(root, { mayWrite, onChange }) {
    Object.assign(this, { root, mayWrite, onChange, entity: null });
  }

  /** Offer to look for them; what was found stays as long as the entity and the number of its facts do. */
  show(entity, facts) {
    if (entity === this.entity && facts === this.facts) return;
    Object.assign(this, { entity, facts });
    this.asking?.abort();
    if (!facts) return this.root.replaceChildren();
    this.found = el("div", { role: "status" });
    const wrap = el("details", {}, el("summary", {}, "Which stored facts look doubtful?"), this.found);
    wrap.addEventListener("toggle", () => wrap.open && !this.found.childNodes.length && this.look());
    this.root.replaceChildren(wrap);
  }

  async look() {
    const { entity, found } = this;
    const { signal } = (this.asking = new AbortController());
    found.replaceChildren(el("p", { class: "waiting" }, "Asking about each fact as if it were not stored …"));
    try {
      const { facts, judged, of } = await api.audit({ entity, k: SHOWN }, signal);
      const all = judged === of ? `all ${count(of, "fact")}` : `${count(judged)} of ${count(of, "fact")}`;
      const said = `The least expected of ${all}. Rare facts that are true look like this too.`;
      found.replaceChildren(
        el("p", { class: "caption" }, said),
        el("ol", { class: "doubtful" }, ...facts.map((fact) => this.line(fact, entity))));
    } catch (error) {
      if (error.name !== "AbortError") found.replaceChildren(el("p", { class: "why" }, sentence(error.message)));
    }
  }

  line({ head, relation, tail, doubt, end, instead, if_missing: likely, because = [] }, entity) {
    const fact = [head, relation, tail];
    const times = 2 ** doubt;
    const many = times > 1e6 ? "a million" : count(Math.round(Number(times.toPrecision(2))));
    const far = times < 1.5 ? "About as likely as the best other answers" :
      `The best other answers are about ${many} times as likely`;
    const share = isGiven(likely) ? ` (${percent(likely)})` : "";
    const expected = instead
      ? [` Expected in place of the ${end}: `, markBefore(instead), nameSpan(instead), share]
      : [];
    const reasons = because.map((each) => el("li", {}, factLine(each, entity)));
    const why = reasons.length
      ? el("details", {}, el("summary", { class: "caption" }, "Because of"), el("ul", { class: "because" }, ...reasons))
      : null;
    const remove = this.mayWrite() ? button("Remove this fact", "quiet", () => this.onChange("removed", fact)) : null;
    const told = el("p", { class: "why" }, `${far}.`, ...expected);
    return el("li", {}, factLine(fact, entity, markBefore), told, why, remove);
  }
}
