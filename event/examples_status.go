package event

func qrCodeExamples() []Example {
	code := QRCode{
		1, "https://wa.me/settings/linked_devices#2@abc,def,ghi,jkl,1", "data:image/png;base64,iVBORw0KGgo=", 20,
		At(exampleTime.Add(20e9)),
	}
	return examples(code, code)
}

func connectionExamples() []Example {
	return examples(
		ConnectionUpdate{TypeLoggedOut, ConnectionClose, 401, At(exampleBefore), "unlinked on the phone", nil},
		ConnectionUpdate{Type: TypeConnected, Connection: ConnectionOpen},
		typed(ConnectionType.values(""), connectionExample),
	)
}

func instanceStatusExamples() []Example {
	return examples(
		InstanceStatus{StatusTemporaryBan, "banned", "too many new chats", Extra{"code": 101, "expire": 3600}, Extra{"expiresAt": At(exampleTime)}},
		InstanceStatus{Type: StatusClientOutdated},
		typed(InstanceStatusType.values(""), instanceStatusExample),
	)
}

func historyExamples() []Example {
	return examples(
		HistoryUpdate{HistorySyncType, At(exampleTime), &HistoryContent{
			SyncType: "RECENT", Progress: new(40), ChunkOrder: new(0), Conversations: new(12), Messages: new(480), PushNames: new(9),
			Extra: Extra{"statusMessages": 3},
		}},
		HistoryUpdate{Type: HistorySyncType, DateTime: At(exampleTime)},
	)
}

func connectionExample(t ConnectionType) any {
	u := ConnectionUpdate{Type: t, Connection: ConnectionClose}
	switch t {
	case PairSuccess, TypeManualReconnect:
		u.Connection = ConnectionConnecting
	case TypeConnected, TypeKeepAliveBack:
		u.Connection, u.LastConnection = ConnectionOpen, At(exampleTime)
	case TypeStreamReplaced:
		u.Connection = ConnectionReplaced
	case TypeKeepAliveLost:
		u.Connection = ConnectionTimedOut
	case TypeLoggedOut:
		u.StatusReason = 401
	case TypeConnectFailure, TypeStreamError:
		u.StatusReason, u.Message = 503, "service unavailable"
	case TypePasskey:
		u.Connection, u.Passkey = ConnectionConnecting, &PasskeyState{Step: PasskeyCompare, Code: new("ABCD-EFGH")}
	default:
		u.Message = "refused"
	}
	return u
}

func instanceStatusExample(t InstanceStatusType) any {
	s := InstanceStatus{Type: t}
	switch t {
	case StatusTemporaryBan:
		s.Message, s.Data = "too many new chats", Extra{"code": 101, "expire": 3600}
	case StatusOfflineSyncPreview:
		s.Data = Extra{"total": 5, "messages": 3, "receipts": 1, "notifications": 1, "appDataChanges": 0}
	case StatusOfflineSyncCompleted:
		s.Data = Extra{"count": 5}
	case StatusPrivacySettings:
		s.Data = Extra{"readReceipts": "all", "lastSeen": "contacts"}
	case StatusAppState:
		s.Data = Extra{"index": []string{"mute", exampleContact}}
	case StatusAppStateSyncCompleted:
		s.Status, s.Data = "completed", Extra{"name": "regular", "version": 12}
	case StatusAppStateSyncError:
		s.Status, s.Message = "error", "missing key"
	case StatusAccountReachoutTimelock:
		s.Status, s.Data = "active", Extra{"until": At(exampleTime.Add(24 * 3600e9))}
	case StatusAccountRestricted:
		s.Status, s.Message = "active", "WhatsApp refused several messages in a row; batches leave the instance out"
		s.Extra = Extra{"reason": map[string]any{"code": 479, "count": 10, "until": At(exampleTime.Add(3600e9))}}
	case StatusClientOutdated:
		s.Message = "the client version is too old"
	}
	return s
}
