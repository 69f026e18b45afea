// Package pace enforces sending limits per instance: messages a minute, an hour and a
// day, new contacts a day, a lower daily limit for young accounts, quiet hours, and a
// minimum time between messages.
//
// # Guarantees
//
// No limit is exceeded in any window. Each message counts at the moment it leaves, and
// leaves only if no window then exceeds its limit: any 60 seconds and any 60 minutes, as
// sliding windows to the millisecond, and the local day. A message that fails after that,
// or whose outcome is unknown, stays counted; one that never left is uncounted. No
// message waits longer than required: the time that a refusal names is the earliest at
// which it may leave, unless other messages leave before.
//
// Counting begins when limits are first set and continues for the life of the instance,
// regardless of later settings. An instance without limits costs nothing.
//
// # Time
//
// Minutes and hours are measured by a monotonic clock, so setting the machine's clock
// does not affect them. Local days and quiet hours use the machine's clock. When that is
// set, departures keep their age: whether one belongs to today depends on its time by the
// corrected clock. So a correction releases nothing of what was sent today, and no clock
// error survives its correction. The file holds times of the machine's clock; times in
// the future at the start count as now.
//
// # Storage
//
// Limits must survive a crash, but a commit per message would be too expensive. So a
// departure is recorded in the next commit of any kind ([store.Store.Attach]), and the
// file states in advance how many messages may leave unrecorded: the grant. While an
// instance sends, each record grants the next messages; the first message after a pause
// waits for its grant, which is requested when its preparation begins. After a second
// without departures the grant is withdrawn. After a crash, granted but unrecorded
// messages count as sent at the start: as many as were about to leave at once in that
// period, at most eight. After an idle period or an orderly shutdown the counts are
// exact.
//
// # Buckets
//
//	pacing  instance + 'L'            -> JSON of Limits
//	        instance + 'D' + n/64     -> number of the first, then time and new contact of each, in millisecond steps
//	pacing_heads
//	        instance                  -> number of the oldest departure, of the next one, and of the next one that is not granted;
//	                                     then the newest, eight at most, as in 'D'
//
// Eight of nine notes write only a head. Heads have a small bucket of their own, so that
// a note adds at most one page to a commit.
package pace
