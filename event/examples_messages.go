package event

import "encoding/json"

func messageExamples() []Example {
	full := exampleMessage()
	full.Media = exampleMediaLink()
	return examples(full, exampleLeastMessage())
}

func exampleMediaLink() *MediaLink {
	return &MediaLink{
		URL:       "https://example.org/media/AQAAAAAAAAABAAAAAAAAAVkAAAAAaa4ngAAAAAAAAAAAm1Z3JkQ0dU0m3vXq6o8b1w/image-345.jpg",
		ExpiresAt: At(exampleTime), Kind: MediaImage, MimeType: "image/jpeg", FileName: "image-345.jpg", Size: 48213,
		SHA256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	}
}

func sendExamples() []Example {
	full, least := exampleMessage(), exampleLeastMessage()
	full.KeyFromMe, full.InstanceID, full.ExternalAttributes, full.Media = true, 1, Attributes(`{"order":77}`), exampleMediaLink()
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
		{"scheduled.failed", ScheduledFailure{
			ScheduledID: "0196a000-0000-7000-8000-000000000002", Status: AsyncFailed, ExternalAttributes: Attributes(`{"order":77}`),
			Error: &AsyncSendFail{TooLate, "the message could not be sent within 600 seconds of its time"},
		}},
	})
}

func messageUpdateExamples() []Example {
	update := func(s UpdateStatus) any { return MessageUpdate{345, s, At(exampleTime)} }
	return examples(update(StatusRead), update(StatusRead), typed(UpdateStatus.values(""), update))
}

func exampleMessage() Message {
	return Message{
		ID: 345, KeyID: exampleKeyID, KeyRemoteJID: new(exampleGroup), KeyLID: new(exampleLID),
		KeyParticipant: new(exampleContact), KeyParticipantLID: new(exampleLID), PushName: new("Ada"),
		MessageType: "extendedTextMessage", Content: json.RawMessage(`{"text":"two loaves, please","matchedText":"https://example.com"}`),
		MessageTimestamp: exampleTime.Unix(), Device: new("android"), IsGroup: true, Metadata: json.RawMessage(`{"edited":true}`),
	}
}

func exampleLeastMessage() Message {
	return Message{
		ID: 345, KeyID: exampleKeyID, MessageType: "conversation", Content: json.RawMessage(`{"text":"two loaves, please"}`),
		MessageTimestamp: exampleTime.Unix(),
	}
}

func messageDeleteExamples() []Example {
	return examples(
		MessageDelete{345, exampleGroup, exampleContact, true, exampleKeyID, true, true, At(exampleTime), At(exampleBefore)},
		MessageDelete{ChatJID: exampleContact, MessageID: exampleKeyID, DateTime: At(exampleTime)},
	)
}

func messageStarExamples() []Example {
	return examples(
		MessageStar{exampleGroup, exampleContact, true, exampleKeyID, true, true, At(exampleTime)},
		MessageStar{ChatJID: exampleContact, MessageID: exampleKeyID, DateTime: At(exampleTime)},
	)
}

func undecryptableExamples() []Example {
	return examples(
		MessageUndecryptable{exampleKeyID, exampleGroup, exampleContact, true, true, UnavailableViewOnce, DecryptFailHide, At(exampleTime)},
		MessageUndecryptable{KeyID: exampleKeyID, ChatJID: exampleContact, DateTime: At(exampleTime)},
	)
}

func mediaRetryExamples() []Example {
	return examples(
		MediaAnswer{exampleKeyID, exampleGroup, exampleContact, true, true, 2, At(exampleTime)},
		MediaAnswer{MessageID: exampleKeyID, ChatJID: exampleContact, DateTime: At(exampleTime)},
	)
}
