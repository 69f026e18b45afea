package sandbox

// newsletterIQ answers requests about channels.
func newsletterIQ(iqKey) (iqHandler, bool) { return nil, false }
