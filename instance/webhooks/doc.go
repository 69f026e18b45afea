// Package webhooks has where the events of each instance go, and how: the webhook, its
// further endpoints, their event lists and filter, headers, signing secrets and durable
// delivery, and the options of the global webhook.
//
// # Reading and changing
//
// A [Directory] has all of it in memory, so that no event reads the file. It needs nothing
// but the store, and is there before whatever delivers: that asks it where a lane leads
// now ([Directory.Resolve]), and the event writer of a commit asks the [Scope] of the
// instance for its routes in that commit.
//
// An [Editor] changes it, and stands above whatever delivers: the commit that changes a
// destination also withholds credentials from it, and the lanes are reported after the
// commit. So all calls go down: editor, ledger and relay, directory.
//
// While options are being replaced, commits read those in the file: an event that is
// stored after them goes out by them, in whatever order the memory follows. Endpoints that
// they add are paused until they are in memory.
//
// # Buckets
//
//	webhook         instance                  -> JSON Webhook, with the scoped key that changed it last
//	webhook_options instance, 0: the global webhook -> JSON of how deliveries go out, with headers and secrets; none: the defaults
package webhooks
