// News from the server: facts that others have added or removed, a new model, and whether the server is there.

import { button, count as counted, el, factKey, factLine } from "./dom.js";

const STAYS = 12000; // ms a note stays
const WHILE = 1000; // ms between two looks at what others do
const AGAIN = 3000; // ms before a closed stream is opened again

/** Tells our own writes from those of others: the news of a write may come before the answer to it, or with others. */
export class Own {
  constructor() {
    Object.assign(this, { written: [], writing: 0, waiting: [] });
  }

  begin() {
    this.writing += 1;
  }

  /** `moment` is null when nothing was written. */
  end(moment, fact) {
    if (moment !== null) this.written.push({ moment, key: factKey(fact) });
    this.writing -= 1;
    if (this.writing === 0) for (const tell of this.waiting.splice(0)) tell();
  }

  /** Call `tell` with the news that is not ours, if there is any; while a write is under way, afterwards. */
  others(news, tell) {
    const check = () => {
      const ours = new Set(this.written.filter(({ moment }) => moment <= news.moment).map(({ key }) => key));
      this.written = this.written.filter(({ moment }) => moment > news.moment);
      const strange = (facts) => facts.filter((fact) => !ours.has(factKey(fact)));
      const [added, removed] = [strange(news.added), strange(news.removed)];
      const unnamed = count(news.added_count, news.added) + count(news.removed_count, news.removed);
      if (added.length || removed.length || unnamed) tell({ ...news, added, removed, unnamed });
    };
    const count = (all, named) => (all ?? named.length) - named.length; // only the first hundred are named
    if (this.writing) this.waiting.push(check);
    else check();
  }
}

/**
 * Listen for good. `onFacts` and `onModel` are told of what others did, `onReach(bool)` of the connection. A browser
 * has six connections to a server, for all its tabs: while this one is hidden it does not listen, and it catches up
 * when it is shown. Returns a function that begins it, from the moment that the page shows, or null.
 */
export function listen({ own, onFacts, onModel, onReach }) {
  let source = null;
  let last = null; // the moment of the last news
  let wasAway = document.hidden;

  const open = () => {
    if (source || document.hidden) return;
    const mine = (source = new EventSource(last === null ? "/events" : `/events?since=${last}`));
    mine.addEventListener("open", () => onReach(true));
    mine.addEventListener("error", () => {
      if (mine !== source) return;
      onReach(false);
      if (mine.readyState !== EventSource.CLOSED) return; // the browser tries again
      source = null;
      setTimeout(open, AGAIN);
    });
    mine.addEventListener("facts", (event) => {
      const news = JSON.parse(event.data);
      last = news.moment;
      own.others(news, onFacts);
    });
    mine.addEventListener("model", () => onModel());
    if (wasAway) onModel(); // a stream tells of models that come after it was opened
    wasAway = false;
  };
  const close = () => {
    wasAway = true;
    source?.close();
    source = null;
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", ({ persisted }) => persisted && open()); // as it was left, by going back to it
  return (moment) => {
    last ??= moment;
    open();
  };
}

/** The same listener, told at most once in a while: a thousand facts may be imported one by one. */
export function together(listener) {
  let waiting = null; // news that came meanwhile
  let resting = false;
  const tell = (news) => {
    resting = true;
    listener(news);
    setTimeout(() => {
      resting = false;
      const next = waiting;
      waiting = null;
      if (next) tell(next);
    }, WHILE);
  };
  return (news) => {
    if (!resting) tell(news);
    else if (!waiting) waiting = news;
    else {
      waiting = {
        ...news,
        added: [...waiting.added, ...news.added],
        removed: [...waiting.removed, ...news.removed],
        unnamed: waiting.unnamed + news.unnamed,
        by: waiting.by === news.by ? news.by : null,
      };
    }
  };
}

/** A small note that goes away by itself. */
export function note(root, ...parts) {
  const close = button("×", "quiet", () => item.remove(), { "aria-label": "Dismiss" });
  const item = el("div", { class: "note" }, el("span", {}, ...parts), close);
  root.append(item);
  while (root.children.length > 3) root.firstChild.remove();
  setTimeout(() => item.remove(), STAYS);
}

/** What others did, in one line. */
export function changedElsewhere({ added, removed, unnamed, by }) {
  const all = [...added.map((fact) => ["added", fact]), ...removed.map((fact) => ["removed", fact])];
  if (!all.length) return ["Changed elsewhere."];
  const [verb, fact] = all[0];
  const others = all.length - 1 + unnamed;
  const besides = others ? `, and ${counted(others, "other")}` : "";
  return ["Changed elsewhere: ", factLine(fact), ` ${verb}${besides}`, by ? ` (${by})` : "", "."];
}
