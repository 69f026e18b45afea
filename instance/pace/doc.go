// Package pace holds the sends of an instance to the limits that were set for
// it: so many messages a minute, an hour and a day, so many new contacts a day,
// fewer while an account is young, none in quiet hours, and not all at once.
//
// # What it promises
//
// No limit is exceeded in any window. A message is counted at the moment in
// which it leaves, whoever sends it, and it leaves only when with it no window
// holds more than its limit: any 60 seconds and any 60 minutes, to the
// millisecond and not in steps, and the local day. What failed after that, or
// whose outcome nobody knows, stays counted; what never left is taken back.
// Nobody waits longer than that: the time that a refusal names is the first at
// which a message may leave, unless somebody else's does before.
//
// Counting begins when limits are set for the first time, and goes on as long
// as the instance is there, whatever is set then. An instance for which nothing
// was set costs nothing.
//
// # Time
//
// Minutes and hours are measured by a clock that nobody can set, so that setting
// the machine's clock changes nothing about them. Local days and quiet hours are
// read off the machine's clock. When it is set, the departures keep their age:
// which of them belong to today is what the clock, as it is set now, says about
// the time at which they left. So a correction frees nobody of what was sent
// today, and no error of the clock outlives its correction. In the file are
// times by the machine's clock; those that lie ahead of it at the start count as
// now.
//
// # The file
//
// A limit that a crash forgets is none, and a commit for each message would cost
// a send more than all the rest. So a departure is noted in whatever commit comes
// next ([store.Store.Attach]), and the file says beforehand how many may leave
// without having been noted: the grant. While an instance sends, each note
// grants the next messages; the first one after a pause waits for its grant,
// which is asked for when its preparation begins. Once nothing has left for a
// second, the grant is withdrawn. After a crash, what was granted and not noted
// may have left, and counts as having left at the start: as many messages as were
// about to leave at once in that stretch of work, eight at most. A program that was idle, or
// ended in order, knows exactly.
//
// # Buckets
//
//	pacing  instance + 'L'            -> JSON of Limits
//	        instance + 'D' + n/64     -> number of the first, then time and new contact of each, in millisecond steps
//	pacing_heads
//	        instance                  -> number of the oldest departure, of the next one, and of the next one that is not granted;
//	                                     then the newest, eight at most, as in 'D'
//
// A note writes a head and nothing else, eight times out of nine: heads have a
// bucket of their own, which is small, so that a note changes one page more of
// those that the commit writes, or none.
package pace
