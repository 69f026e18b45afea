package event

// enumerated is a string type that knows all its values, for the schema.
type enumerated interface{ values() []string }

func list[T ~string](values ...T) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	return all
}

func (State) values() []string { return list(States()...) }

func (ConnectionType) values() []string {
	return list(PairSuccess, PairError, TypeConnected, TypeDisconnected, TypeLoggedOut, TypeStreamReplaced,
		TypeKeepAliveLost, TypeKeepAliveBack, TypeConnectFailure, TypeManualReconnect, TypeStreamError,
		TypeCATRefreshError, TypePasskey)
}

func (Connection) values() []string {
	return list(ConnectionConnecting, ConnectionOpen, ConnectionClose, ConnectionReplaced, ConnectionTimedOut)
}

func (UpdateStatus) values() []string {
	return list(StatusDelivered, StatusSent, StatusRead, StatusPlayed, StatusServerError, StatusRetry, StatusUnknown)
}

// values leaves Draft out: no event announces a draft.
func (BatchStatus) values() []string {
	return list(BatchQueued, BatchIsScheduled, BatchProcessing, BatchWaitingForWindow, BatchPauseAsked, BatchIsPaused,
		BatchWaitingForInstance, BatchStopAsked, BatchIsStopped, BatchIsInterrupted, BatchIsCompleted, BatchIsWithErrors)
}
