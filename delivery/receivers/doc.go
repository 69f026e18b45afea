// Package receivers knows how the destinations of webhooks answer, and what waits for them.
//
// A receiver is one destination of one owner: the webhook of an instance, one of its further
// endpoints, the operator's global webhook with both flows, or a consumer that pulls. Its
// [ID] does not change with its URL. It exists as long as it is enabled or something waits
// for it.
//
// # Health
//
// [Health] counts attempts in memory: live ones, retries, probes and replays alike. An
// attempt fails unless it was answered 2xx. A receiver is FAILING from its third failed
// attempt in a row until one is accepted; another URL, or its removal, begins its state
// anew. Numbers of the last 24 hours are kept by the hour. A start forgets all of it, except
// that a durable receiver whose oldest waiting delivery has failed three times is FAILING at
// once.
//
// # Pauses
//
// [Pauses] are in the file and in memory. A paused destination resolves as
// delivery.Paused: what is durable waits, and maxAge goes on. A pause ends at its time, by
// [Pauses.Resume], or with the destination.
//
// # Buckets
//
//	receiver_pause   instance, 0: the global webhook + ID -> end, Unix milliseconds
package receivers
