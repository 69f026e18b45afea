// The pages: the route of each, whose title has the key "nav." and the route, its icon, and
// the scope that a key needs. "operator": only the operator's key. page loads its component.
//
// where: "main" for daily work, "keep" for operating the program. when: a condition on the
// server for the page to exist.
import { sandbox } from "./data/sandbox.js";
import { can } from "./data/session.js";

export const routes = [
  {
    at: "overview",
    where: "main",
    icon: "overview",
    scope: "read",
    page: async () => (await import("./pages/overview.js")).Overview,
  },
  {
    at: "instances",
    where: "main",
    icon: "phone",
    scope: "read",
    page: async () => (await import("./pages/instances.js")).Instances,
  },
  {
    at: "chats",
    where: "main",
    icon: "chats",
    scope: "read",
    page: async () => (await import("./pages/chats.js")).Chats,
  },
  {
    at: "batches",
    where: "main",
    icon: "batches",
    scope: "batch",
    page: async () => (await import("./pages/batches.js")).Batches,
  },
  {
    at: "deliveries",
    where: "main",
    icon: "deliveries",
    scope: "deliveries",
    page: async () => (await import("./pages/deliveries.js")).Deliveries,
  },
  {
    at: "webhook",
    where: "keep",
    icon: "link",
    scope: "operator",
    page: async () => (await import("./pages/webhook.js")).Webhook,
  },
  {
    at: "keys",
    where: "keep",
    icon: "key",
    scope: "operator",
    page: async () => (await import("./pages/keys.js")).Keys,
  },
  {
    at: "audit",
    where: "keep",
    icon: "audit",
    scope: "operator",
    page: async () => (await import("./pages/keep.js")).Audit,
  },
  {
    at: "backups",
    where: "keep",
    icon: "backup",
    scope: "operator",
    page: async () => (await import("./pages/keep.js")).Backups,
  },
  {
    at: "configuration",
    where: "keep",
    icon: "settings",
    scope: "operator",
    page: async () => (await import("./pages/keep.js")).Configuration,
  },
  { at: "log", where: "keep", icon: "log", scope: "operator", page: async () => (await import("./pages/log.js")).Log },
  {
    at: "sandbox",
    where: "keep",
    icon: "sandbox",
    scope: "operator",
    when: () => sandbox.value.phones,
    page: async () => (await import("./pages/sandbox.js")).Sandbox,
  },
];

export const allowed = () => routes.filter((route) => can(route.scope) && (!route.when || route.when()));

// routeOf returns the page of a route, or the first permitted page without a route.
export function routeOf(parts, allowed) {
  return allowed.find((route) => route.at === parts[0]) || (parts.length === 0 ? allowed[0] : undefined);
}
