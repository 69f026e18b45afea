// Package samples keeps samples of the program's metrics, one a minute for the last day and
// one an hour for the last 30 days, so that recent history is available without an external
// metrics store.
//
// A sample holds counter differences over its time and gauge values at its end. A counter
// reset to 0 counts from there. Minutes follow the wall clock: setting it back hides the
// samples that are now in the future, which the file keeps until the clock has passed the
// latest time that it showed; setting it forward, suspending the machine, and the time
// between a stop and a start leave a gap. A sample of an hour is the sum of its minutes.
//
// Samples are held in memory. They are written to the data file once a minute, so a kill
// loses the running minute, and one more if the commit was on its way. While the file takes
// no changes, they are kept in memory and written later.
//
//	sample_minute, sample_hour   Unix time of its begin → counts, gauges, instances by state
//
// All samples with 17 states each take 400 KB of memory and at most 1 MiB of the file.
package samples
