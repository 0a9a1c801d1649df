// Puts the parts together: the address says what to show, the server is asked, the parts draw what it answers.

import * as api from "./api.js";
import { Answers, FIRST } from "./answers.js";
import { answersTo, isSoon, plainFacts, weighedFacts, whatIsSaid } from "./asking.js";
import { Doubts } from "./doubts.js";
import { el, factKey, factLine, sentence, shown } from "./dom.js";
import { askForToken, Edit } from "./edit.js";
import { showHeadword } from "./headword.js";
import { setKinds } from "./kinds.js";
import { showInferred } from "./inferred.js";
import { changedElsewhere, listen, note, Own, together } from "./live.js";
import { called } from "./names.js";
import * as pages from "./pages.js";
import { Question } from "./question.js";
import { actionsFor, linkTo, marksOf, showReasons, weightsOf } from "./reasons.js";
import { makeSearch } from "./search.js";
import { Star } from "./star.js";
import { factOf, viewOf, Views } from "./state.js";
import { comingAfter, grown, holds, Times } from "./times.js";
import * as first from "./welcome.js";

const UNLIKELY = 0.001; // probability below which a fact is not called missing
const $ = (id) => document.getElementById(id);

let graph = null, relations = [], kinds = [];
let facts = []; // of the entity on the page
let said = null; // of the entity on the page besides
let k = FIRST;
let loading = null; // AbortController of what is being asked
let reasoning = null; // the same for reasons
let current = {}; // the view that is on the page
let reachable = true;

const own = new Own();
const views = new Views((view, before) => {
  if (!isSameQuestion(view, before)) k = FIRST;
  load({ focus: true });
});
const ask = ({ relation, direction }) => views.go({ ...views.current, relation, direction, answer: null });
const isSameQuestion = (a, b) => ["entity", "relation", "direction"].every((key) => a[key] === b[key]);
const otherEnd = (end) => (end === "head" ? "tail" : "head"); // the head of a fact asks for its tail
const star = new Star($("star"), $("legend"), {
  onAsk: (relation, role) => ask({ relation, direction: otherEnd(role) }),
});
const question = new Question($("question"), { onAsk: ask, onStored: () => load() });
const answers = new Answers($("answers"), {
  onToggle: toggled,
  onMore: (more) => {
    k = more;
    load();
  },
  onMoved: ({ fact }) => {
    const now = factLine(fact).textContent; // for screen readers
    $("ranking-news").textContent = `The order has changed. First is now ${now}.`;
  },
});
const changeFact = (kind, fact, isKept) => edit.change(kind, fact, null, isKept);
const doubts = new Doubts($("doubts"), { mayWrite: () => graph.writes, onChange: changeFact });
const times = new Times($("times"), {
  onMove: (at) => {
    views.moveTo(at);
    return load();
  },
});
const edit = new Edit($("edit"), { own, onChanged: changed });
makeSearch($("search"), {
  onFind: (name) => views.go({ entity: name }),
  onNew: introduce,
  mayWrite: () => Boolean(graph?.writes),
});

/** Ask for everything that the current view needs, and show it. `fresh` are the keys of facts that have just come. */
async function load({ focus = false, fresh = null } = {}) {
  let view = views.current;
  loading?.abort();
  const { signal } = (loading = new AbortController());
  if (!graph) return;
  if (!view.entity) return showEntrance(view.kind, signal);
  const isWeighed = Boolean(view.relation) && graph.model.weighs && view.at === null;
  const described = whatIsSaid(view.entity, signal);
  const drawn = isWeighed ? weighedFacts(view, signal) : plainFacts(view.entity, signal);
  const ranked = answersTo(view, k, question.withStored, signal);
  const [hasFacts, hasAnswers] = await Promise.all([isSoon(drawn), isSoon(ranked)]);
  if (signal.aborted) return;
  if (!hasFacts || !hasAnswers) answers.wait(questionOf(view));
  const isEarly = isWeighed && !hasFacts && !isSameQuestion(view, current); // weights come later
  const early = isEarly ? Promise.race([drawn, plainFacts(view.entity, signal)]) : drawn;
  const [around, about] = await Promise.allSettled([early, described]);
  if (signal.aborted) return;
  if (around.status === "rejected") return showFailure(view, around.reason);
  said = about.value;
  if (around.value.entity !== view.entity) { // it was asked for by its label or an alias
    views.rename(around.value.entity);
    view = views.current;
  }
  showEntity(view, around.value, { focus, fresh });
  const again = (found) => found !== around.value && !signal.aborted && showEntity(view, found, { fresh });
  drawn.then(again, () => {}); // without weights, what is drawn will do
  const [rows] = await Promise.allSettled([ranked]);
  if (signal.aborted) return;
  if (rows.status === "rejected") showNoAnswers(rows.reason);
  else if (!facts.length) showNoAnswers({ code: "no_facts" });
  else showAnswers(view, rows.value);
}

/** One text for a question, to compare. */
function questionOf({ entity, relation, direction }) {
  return JSON.stringify([entity, relation, direction, question.withStored]);
}

function showPage(entity) {
  $("welcome").hidden = entity !== null;
  document.title = entity ? `${shown(called(entity))} – hmem` : "hmem";
  document.body.classList.toggle("at-entry", entity !== null);
}

/** The page without an entity: what is in the base, or the entities of a kind. */
async function showEntrance(kind, signal) {
  current = {};
  star.clear();
  times.clear();
  showPage(null);
  edit.suggest({});
  if (kind) document.title = `${shown(kind)} – hmem`;
  const base = { graph, kinds, relations };
  try {
    await (kind ? first.ofKind($("welcome"), kind, base, signal) : first.welcome($("welcome"), base, star, signal));
  } catch (error) {
    if (kind && error.name !== "AbortError") pages.failed($("welcome"), error, () => load());
  }
}

function showFailure(view, error) {
  if (error.name === "AbortError") return;
  times.clear();
  star.clear();
  answers.clear();
  current = {};
  showPage(null);
  document.title = "hmem";
  const options = { mayWrite: graph.writes, onNew: introduce };
  if (error.code === "ambiguous_name") pages.ambiguous($("welcome"), view.entity, error.suggestion);
  else if (error.code === "unknown_name") pages.unknown($("welcome"), view.entity, error, options);
  else pages.failed($("welcome"), error, () => load());
}

function showEntity(view, around, { focus, fresh }) {
  const isOther = view.entity !== current.entity;
  const isAsked = !isSameQuestion(view, current);
  const since = isOther || isAsked || current.at === null ? null : current.at;
  facts = around.facts;
  current = view;
  showPage(view.entity);
  const total = around.total ?? facts.length;
  const head = { name: $("name"), about: $("about"), said: $("said") };
  showHeadword(head, view.entity, said, { total, isNew: around.new });
  times.show(view.entity, facts, view.at);
  const then = facts.filter((fact) => holds(fact, view.at));
  if (since !== null) fresh = grown(then, since, view.at); // the slider has moved
  const asked = view.relation && { relation: view.relation, role: otherEnd(view.direction) };
  const all = view.at === null ? total : then.length;
  const modeled = graph.model.weighs && view.at === null;
  star.show({ entity: view.entity, facts: then, total: all, fresh, question: asked, modeled });
  showInferred($("inferred"), then, view.entity, graph.writes ? changeFact : null);
  question.show(view, relations, then, all);
  doubts.show(view.entity, facts.length);
  edit.subject = view.entity;
  if (isAsked) {
    reasoning?.abort(); // they were about something else
    edit.suggest(view);
  }
  if (isOther && focus) $("name").focus({ preventScroll: true });
  if (isOther && focus) scrollTo({ top: 0 });
}

function showAnswers(view, ranked) {
  const missing = !view.relation;
  const worth = missing ? ranked.filter((each) => !(each.probability < UNLIKELY)) : ranked;
  const later = comingAfter(facts, view.at);
  const rows = worth.map((each, place) => {
    const fact = missing ? [each.head, each.relation, each.tail] : factOf(view, each.name);
    return { ...each, fact, rank: missing ? place + 1 : each.rank, later: later.get(factKey(fact)) };
  });
  answers.show(rows, { question: questionOf(view), entity: view.entity, missing, k });
  const open = answers.opened();
  if (open) toggled(open.row, open.container); // what is read is kept up to date
  else if (!view.answer || !answers.openFact(factOf(view, view.answer))) star.explain(null);
}

/** Say why there are no answers. */
function showNoAnswers(error) {
  if (error.name === "AbortError") return;
  if (error.code === "no_facts" && current.at !== null && facts.length) error = { code: "none_then" };
  const meant = error.code === "unknown_name" ? error.suggestion : []; // the entity is there, so it is the relation
  const others = meant.map((relation) => linkTo({ ...current, relation, answer: null }, relation));
  const isLoading = graph.model.status === "loading"; // when this page last asked
  answers.say(...pages.noAnswers(error, { hasFacts: facts.length > 0, others, isLoading }));
  star.explain(null);
  if (error.code === "loading" || (error.code === "timeout" && isLoading)) setTimeout(begin, 1000);
}

/** A row was opened or closed: fetch its reasons and light up the drawing. */
async function toggled(row, container) {
  reasoning?.abort();
  const view = current;
  views.openAnswer(row && view.relation ? row.name : null);
  if (!row) return star.explain(null);
  const { signal } = (reasoning = new AbortController());
  const [head, relation, tail] = row.fact;
  const direction = view.direction ?? (head === view.entity ? "tail" : "head");
  const answer = direction === "tail" ? tail : head;
  try {
    const explained = await api.explain({ head, relation, tail, direction, ...(view.at && { at: view.at }) }, signal);
    if (signal.aborted) return;
    const change = graph.writes && view.at === null ? changeFact : null;
    const actions = actionsFor(row, view, { direction, answer, change });
    const reading = showReasons(container, row, explained, { entity: view.entity, actions });
    const weights = view.relation ? null : weightsOf(explained); // where many are asked, those of this one
    star.explain({ entity: view.entity, answer, weights, ...marksOf(reading) });
  } catch (error) {
    if (error.name === "AbortError") return;
    container.replaceChildren(el("p", { class: "why" }, sentence(error.message)));
    star.explain(null);
  }
}

/** Our own write is done: show what it changes, in place. An entity that was just added gets a page. */
async function changed(fact, kind, isIntroduction) {
  await renew().catch(() => {}); // the banner says when the server is gone
  if (isIntroduction || !views.current.entity) return views.go({ entity: fact[0] });
  return load({ fresh: kind === "added" ? new Set([factKey(fact)]) : null });
}

/** Ask for the counts, kinds and relations of the graph again. */
async function renew() {
  [graph, relations, kinds] = await Promise.all([api.graph(), api.relations(), api.kinds()]);
  setKinds(kinds);
  edit.setRelations(relations.map(({ name }) => name));
  $("base").textContent = graph.path;
  pages.colophon($("colophon"), graph);
}

/** An entity is to be added: begin its first fact. */
function introduce(name) {
  edit.introduce(name);
  document.querySelector(".telling").scrollIntoView({ block: "nearest" });
}

function reached(is) {
  if (is === reachable) return;
  reachable = is;
  $("banner").hidden = is;
  const gone = "The server does not answer. What you see may be old; the page tries again by itself.";
  $("banner").textContent = is ? "" : gone;
  if (is) begin();
}

// Links inside the page change the view without loading everything again.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const href = link.getAttribute("href");
  if (!href.startsWith("/?") && href !== "/") return;
  event.preventDefault();
  views.go(viewOf(href.slice(1)));
});

async function begin() {
  try {
    await renew();
    hear(graph.moment);
    if (edit.writes !== graph.writes) edit.begin(graph);
    await load();
  } catch (error) {
    hear(null);
    if (graph === null) {
      showPage(null);
      pages.failed($("welcome"), error, begin);
    }
  }
}

// The drawing stays in sight while one reads; style.css needs its height for that.
const measured = ([{ target }]) => target.style.setProperty("--height", `${target.offsetHeight}px`);
new ResizeObserver(measured).observe($("beside"));

api.watchReach(reached);
api.useTokenDialog(askForToken($("token")));
const hear = listen({ own, onReach: reached, onModel: begin, onFacts: together(elsewhere) });
begin();

/** Others have changed something: say so, and show what it changes. */
async function elsewhere(news) {
  note($("notes"), ...changedElsewhere(news));
  await renew().catch(() => {});
  const { entity } = views.current;
  const fresh = news.added.find(([head, , tail]) => head === entity || tail === entity);
  await load({ fresh: fresh ? new Set([factKey(fresh)]) : null });
}
