package event

import "encoding/json"

const (
	exampleBatchID = "0196a000-0000-7000-8000-0000000000b1"
	exampleItemID  = "0196a000-0000-7000-8000-0000000000c1"
)

func batchItemExamples(code string) []Example {
	messages := map[string]string{
		SendMessageFailed: "recipient is not on WhatsApp",
		SendResultUnknown: "the connection was lost before the answer came",
	}
	item := BatchItemData{
		BatchID: exampleBatchID, ItemID: exampleItemID, Recipient: "4915155500002", Instance: BatchItemSender{1, "shop"},
		Error: BatchItemError{code, messages[code]},
	}
	return examples(item, item)
}

func batchExamples(kind Kind, status BatchStatus) []Example {
	full := exampleBatch(kind, status)
	least := full
	least.NextRunAt, least.Schedule, least.InterruptionReason, least.LastInterruptedAt, least.LastRecoveredAt = nil, nil, nil, nil, nil
	least.Options = BatchOptions{}
	all := examples(BatchData{full}, BatchData{least})
	switch kind {
	case BatchProgress:
		all = append(all, Example{"reduced", BatchData{BatchProgressReduced{
			Counts: full.Counts, CreatedAt: full.CreatedAt, CurrentItem: full.CurrentItem, ID: full.ID,
			Instances: []BatchInstanceReduced{{1, "shop", Online, 1}}, Name: full.Name, Progress: full.Progress,
			StartedAt: full.StartedAt, Status: full.Status, UpdatedAt: full.UpdatedAt,
		}}})
	case BatchCompletedWithErrors:
		all = append(all, Example{"reduced", BatchData{BatchCompletedReduced{
			full.CompletedAt, full.Counts, full.ID, full.Name, full.Progress, full.Status, full.UpdatedAt,
		}}})
	default:
	}
	return all
}

func exampleBatch(kind Kind, status BatchStatus) BatchView {
	v := BatchView{
		ID: exampleBatchID, Name: "May offers", Status: status,
		Counts:    BatchCounts{Pending: 2, Total: 2},
		CreatedAt: At(exampleBefore), UpdatedAt: At(exampleTime), NextRunAt: AtPtr(exampleTime.Add(24 * 3600e9)),
		Schedule:   json.RawMessage(`{"windowStartAt":"2026-05-04T09:00:00Z","windowEndAt":"2026-05-04T17:00:00Z","recurrence":"DAILY","timezone":"UTC"}`),
		AutoResume: true,
		Options:    BatchOptions{Delay: BatchDelay{1000, 3000}, Presence: "composing", SkipUnregistered: true},
		Message:    BatchMessage{"text", json.RawMessage(`{"text":"fresh bread today"}`)}, OwnerUserID: "0196a000-0000-7000-8000-0000000000a1",
		Instances:          []BatchInstance{{ID: 1, Name: "shop", ConnectionStatus: Online}},
		InterruptionReason: new("LEASE_EXPIRED"), LastInterruptedAt: AtPtr(exampleBefore), LastRecoveredAt: AtPtr(exampleBefore),
	}
	switch kind {
	case BatchStarted, BatchResumed:
		v.StartedAt = At(exampleTime)
	case BatchProgress:
		v.StartedAt = At(exampleBefore)
		v.Progress, v.Counts = 50, BatchCounts{Pending: 1, Processed: 1, Success: 1, Total: 2}
		v.Instances[0].SelectedCount, v.Instances[0].SuccessCount = 1, 1
		v.CurrentItem = &BatchItemRef{exampleItemID, "shop", 1, "4915155500002"}
	case BatchPaused:
		v.PausedAt = At(exampleTime)
	case BatchStopped:
		v.StoppedAt = At(exampleTime)
	case BatchInterrupted:
		v.InterruptedAt = At(exampleTime)
	case BatchWaitingInstance:
		v.Instances[0].ConnectionStatus = Offline
	case BatchCompleted:
		v.CompletedAt = At(exampleTime)
		v.Progress, v.Counts = 100, BatchCounts{Processed: 2, Success: 2, Total: 2}
	case BatchCompletedWithErrors:
		v.CompletedAt = At(exampleTime)
		v.Progress, v.Counts = 100, BatchCounts{Processed: 2, Success: 1, Failed: 1, Total: 2}
	default:
	}
	return v
}
