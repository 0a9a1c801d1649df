// What the server is asked about a view: the facts of its entity, and the answers to its question.

import * as api from "./api.js";

const MOST_FACTS = 1000; // of one entity, that the drawing chooses from
const SOON = 150; // ms; what has come by then is shown together, and otherwise each when it comes

/** The facts of an entity, for which no model is needed. */
export function plainFacts(entity, signal) {
  return api.neighbors({ entity, limit: MOST_FACTS }, signal);
}

/** What is said of an entity besides its facts: label, aliases, kind, description, values. The facts do without. */
export async function whatIsSaid(entity, signal) {
  const [said, values] = await Promise.allSettled([api.entity(entity, signal), api.values(entity, signal)]);
  return { ...said.value, values: values.value ?? [] };
}

/** The same with weights for the question; without them if the question cannot be asked. */
export async function weighedFacts({ entity, relation, direction }, signal) {
  try {
    return await api.neighbors({ entity, limit: MOST_FACTS, relation, direction }, signal);
  } catch (error) {
    if (error.name === "AbortError" || error.code === "gone") throw error;
    return plainFacts(entity, signal);
  }
}

/** The best `k` answers of that time, with or without the `stored` ones; without a relation all that is missing. */
export function answersTo({ entity, relation, direction, at }, k, stored, signal) {
  const when = at === null ? {} : { at };
  if (!relation) return api.missing({ entity, k, ...when }, signal);
  return api.predict({ entity, k, relation, direction, stored, ...when }, signal);
}

/** Wait a little for something. Whether it has come, or failed. */
export function isSoon(promise) {
  const late = new Promise((done) => setTimeout(done, SOON, false));
  return Promise.race([promise.then(() => true, () => true), late]);
}
