// The pages: where each is, what it is called (its key in words is "nav." and
// its place), its icon, and the scope that a key needs for it. "operator": only the
// operator's own key. A page is a module that exports its component as default.
//
// where: "main" is for the day's work, "keep" for keeping the program. when: a page
// that is only there when that is true of the server.
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

// routeOf is the page of a place, and the first that may be seen for none.
export function routeOf(parts, allowed) {
  return allowed.find((route) => route.at === parts[0]) || (parts.length === 0 ? allowed[0] : undefined);
}
