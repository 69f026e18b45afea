// The pages: the route of each, whose title has the key "nav." and the route, its icon, and
// the scope that a key needs. "operator": only the operator's key. A page is a module whose
// default export is its component.
//
// where: "main" for daily work, "keep" for operating the program. when: a condition on the
// server for the page to exist.
import { sandbox } from "./data/sandbox.js";

export const routes = [
  { at: "overview", where: "main", icon: "overview", scope: "read", page: () => import("./pages/overview.js") },
  { at: "instances", where: "main", icon: "phone", scope: "read", page: () => import("./pages/instances.js") },
  { at: "chats", where: "main", icon: "chats", scope: "read", page: () => import("./pages/chats.js") },
  { at: "batches", where: "main", icon: "batches", scope: "batch", page: () => import("./pages/batches.js") },
  { at: "deliveries", where: "main", icon: "deliveries", scope: "deliveries", page: () => import("./pages/deliveries.js") },
  { at: "webhook", where: "keep", icon: "link", scope: "operator", page: () => import("./pages/webhook.js") },
  { at: "keys", where: "keep", icon: "key", scope: "operator", page: () => import("./pages/keys.js") },
  { at: "audit", where: "keep", icon: "audit", scope: "operator", page: () => keep("Audit") },
  { at: "backups", where: "keep", icon: "backup", scope: "operator", page: () => keep("Backups") },
  { at: "configuration", where: "keep", icon: "settings", scope: "operator", page: () => keep("Configuration") },
  { at: "log", where: "keep", icon: "log", scope: "operator", page: () => import("./pages/log.js") },
  { at: "sandbox", where: "keep", icon: "sandbox", scope: "operator", when: () => sandbox.value.phones, page: () => import("./pages/sandbox.js") },
];

const keep = async (name) => ({ default: (await import("./pages/keep.js"))[name] });

// routeOf returns the page of a route, or the first permitted page without a route.
export function routeOf(parts, allowed) {
  return allowed.find((route) => route.at === parts[0]) || (parts.length === 0 ? allowed[0] : undefined);
}
