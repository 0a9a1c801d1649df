// The server, as functions. Each returns plain data or throws an ApiError with the server's own words.

import { isGiven } from "./dom.js";
import { learn, learnAll } from "./names.js";

export class ApiError extends Error {
  /** `code` is stable ("unknown_name", "no_facts", …); "gone" means that no answer came at all. */
  constructor(code, message, suggestion = [], status = 0) {
    super(message);
    this.code = code;
    this.suggestion = suggestion;
    this.status = status;
  }
}

const TOKEN = "hmem.token";
let onReach = () => {}; // told after each call whether the server was there
let askForToken = async () => null;

export function watchReach(listener) {
  onReach = listener;
}

/** `ask` shows a dialog and returns what was typed, or null. */
export function useTokenDialog(ask) {
  askForToken = ask;
}

async function call(method, path, { query = {}, body, signal, headers = {} } = {}) {
  const given = Object.entries(query).filter(([, value]) => isGiven(value));
  const url = given.length ? `${path}?${new URLSearchParams(given)}` : path;
  const options = { method, signal, headers: { Accept: "application/json", ...headers } };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  let response, data;
  try {
    response = await fetch(url, options);
    data = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error; // a newer question has replaced this one
    onReach(false);
    throw new ApiError("gone", "The server does not answer.");
  }
  onReach(true);
  if (response.ok) {
    learn(data.labels);
    return data;
  }
  const said = data.error ?? { code: "internal", message: `The server answered ${response.status}.` };
  throw new ApiError(said.code, said.message, said.suggestion ?? [], response.status);
}

/** A change. Asks for the token when the server wants one, and again when it was wrong. */
async function write(method, path, body) {
  let token = sessionStorage.getItem(TOKEN);
  for (let again = false; ; again = true) {
    try {
      const headers = token ? { Authorization: `Bearer ${token}` } : {};
      const answer = await call(method, path, { body, headers });
      if (token) sessionStorage.setItem(TOKEN, token);
      return answer;
    } catch (error) {
      if (error.code !== "unauthorized") throw error;
      sessionStorage.removeItem(TOKEN);
      token = await askForToken(again || token !== null);
      if (!token) throw new ApiError("unauthorized", "Nothing was changed: that needs the server's token.");
    }
  }
}

export const graph = () => call("GET", "/graph");
export const relations = () => call("GET", "/relations").then(({ relations }) => known(relations, "relation"));
export const kinds = () => call("GET", "/kinds").then((data) => data.kinds);
export const questions = (limit, signal) =>
  call("GET", "/questions", { query: { limit }, signal }).then((data) => data.questions);
export const entity = (name, signal) =>
  call("GET", "/entity", { query: { name }, signal }).then((found) => known([found])[0]);

export const values = (entity, signal) =>
  call("GET", "/values", { query: { entity, limit: 200 }, signal }).then((data) => data.values);

/** Entities as one types, or of a kind: {entities, more}. */
export async function entities(search, limit, signal, kind = null) {
  const found = await call("GET", "/entities", { query: { search, limit, kind }, signal });
  return { ...found, entities: known(found.entities) };
}

function known(described, of = "entity") {
  learnAll(described, of);
  return described;
}

export const neighbors = (query, signal) => call("GET", "/neighbors", { query, signal });
export const predict = (body, signal) => ask("/predict", body, signal).then((data) => data.results[0].answers);
export const missing = (body, signal) => ask("/missing", body, signal).then((data) => data.facts);
export const audit = (body, signal) => ask("/audit", body, signal);
export const explain = (body, signal) => ask("/explain", body, signal);
export const addFact = (fact) => write("POST", "/facts", asBody(fact));
export const removeFact = (fact) => write("DELETE", "/facts", asBody(fact));

function ask(path, body, signal) {
  return call("POST", path, { body, signal });
}

function asBody([head, relation, tail]) {
  return { facts: [{ head, relation, tail }], source: "page" };
}
