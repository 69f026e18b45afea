package sqlite

// LockedBy is for tests.
var LockedBy = lockedBy
