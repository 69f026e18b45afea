package event

import "encoding/json"

func messageExamples(kind Kind) []Example {
	full := Message{
		ID: 345, KeyID: exampleKeyID, KeyRemoteJID: new(exampleGroup), KeyLID: new(exampleLID),
		KeyParticipant: new(exampleContact), KeyParticipantLID: new(exampleLID), PushName: new("Ada"),
		MessageType: "extendedTextMessage", Content: json.RawMessage(`{"text":"two loaves, please","matchedText":"https://example.com"}`),
		MessageTimestamp: exampleTime.Unix(), Device: new("android"), IsGroup: true, Metadata: json.RawMessage(`{"edited":true}`),
	}
	least := Message{
		ID: 345, KeyID: exampleKeyID, MessageType: "conversation", Content: json.RawMessage(`{"text":"two loaves, please"}`),
		MessageTimestamp: exampleTime.Unix(),
	}
	switch kind {
	case MessagesUpsert:
		return examples(full, least)
	case SendMessage:
		full.KeyFromMe, full.InstanceID, full.ExternalAttributes = true, 1, Attributes(`{"order":77}`)
		least.KeyFromMe = true
		return examples(full, least, []Example{
			{"result.sent", SendResult{
				ProcessID: "0196a000-0000-7000-8000-000000000001", Status: AsyncSent, MentionAll: true, ExternalAttributes: Attributes(`{"order":77}`),
				Data: &AsyncMessage{exampleKeyID, exampleGroup, 2, At(exampleTime)},
			}},
			{"result.failed", SendResult{
				ProcessID: "0196a000-0000-7000-8000-000000000001", Status: AsyncFailed, MentionAll: true,
				Error: &AsyncSendFail{SendMessageFailed, "the server refused the message"},
			}},
		})
	case MessagesUpdate:
		update := func(s UpdateStatus) any { return MessageUpdate{345, s, At(exampleTime)} }
		return examples(update(StatusRead), update(StatusRead), typed(UpdateStatus.values(""), update))
	default:
		return nil
	}
}

func messageActionExamples(kind Kind) []Example {
	switch kind {
	case MessagesDelete:
		return examples(
			MessageDelete{345, exampleGroup, exampleContact, true, exampleKeyID, true, true, At(exampleTime), At(exampleBefore)},
			MessageDelete{ChatJID: exampleContact, MessageID: exampleKeyID, DateTime: At(exampleTime)},
		)
	case MessagesStar:
		return examples(
			MessageStar{exampleGroup, exampleContact, true, exampleKeyID, true, true, At(exampleTime)},
			MessageStar{ChatJID: exampleContact, MessageID: exampleKeyID, DateTime: At(exampleTime)},
		)
	case MessagesUndecryptable:
		return examples(
			MessageUndecryptable{exampleKeyID, exampleGroup, exampleContact, true, true, UnavailableViewOnce, DecryptFailHide, At(exampleTime)},
			MessageUndecryptable{KeyID: exampleKeyID, ChatJID: exampleContact, DateTime: At(exampleTime)},
		)
	case MediaRetry:
		return examples(
			MediaAnswer{exampleKeyID, exampleGroup, exampleContact, true, true, 2, At(exampleTime)},
			MediaAnswer{MessageID: exampleKeyID, ChatJID: exampleContact, DateTime: At(exampleTime)},
		)
	default:
		return nil
	}
}
