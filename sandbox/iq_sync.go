package sandbox

// syncIQ answers requests about app state.
func syncIQ(iqKey) (iqHandler, bool) { return nil, false }
