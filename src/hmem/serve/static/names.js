// What entities and relations are called, and of which kind entities are, as far as the server has said it.
// Ids are exact and stay in addresses and requests; labels are what a reader sees.

const entities = new Map(), relations = new Map(), kinds = new Map();
const inverses = new Map(); // what relations are called from the tail to the head

/** Take in the "labels" of an answer: {entities, relations, kinds}, each by id. */
export function learn(said) {
  for (const [known, told] of [[entities, said?.entities], [relations, said?.relations], [kinds, said?.kinds]]) {
    for (const [id, text] of Object.entries(told ?? {})) known.set(id, text);
  }
}

/** The same of things that are described one by one: [{name, label, kind, inverse}]; of these all is known. */
export function learnAll(described, of = "entity") {
  const labels = of === "entity" ? entities : relations;
  for (const { name, label, kind, inverse } of described) {
    if (label && label !== name) labels.set(name, label);
    else labels.delete(name);
    if (inverse) inverses.set(name, inverse);
    else if (of === "relation") inverses.delete(name);
    if (kind) kinds.set(name, kind);
    else if (of === "entity") kinds.delete(name);
  }
}

/** The label of an entity, or its id. */
export function called(id) {
  return entities.get(id) ?? id;
}

/** The label of a relation, or its id. */
export function relationCalled(id) {
  return relations.get(id) ?? id;
}

/** A relation as it is read from an entity that is the head or the tail in it, with an arrow. */
export function readFrom(role, id, shown) {
  if (role === "head") return `${shown(relationCalled(id))} →`;
  return inverses.has(id) ? `${shown(inverses.get(id))} →` : `← ${shown(relationCalled(id))}`;
}

/** The kind of an entity, or null. */
export function kindOf(id) {
  return kinds.get(id) ?? null;
}
