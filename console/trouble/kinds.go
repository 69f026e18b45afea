package trouble

import (
	"fmt"
	"slices"
)

// Kind is what is wrong.
type Kind string

// The kinds.
const (
	InstanceLoggedOut    Kind = "INSTANCE_LOGGED_OUT"
	InstanceWrongNetwork Kind = "INSTANCE_WRONG_NETWORK"
	InstanceOutdated     Kind = "INSTANCE_OUTDATED"
	InstanceStopped      Kind = "INSTANCE_STOPPED"
	InstanceRestricted   Kind = "INSTANCE_RESTRICTED"
	InstanceOffline      Kind = "INSTANCE_OFFLINE"
	PhoneNotSeen         Kind = "PHONE_NOT_SEEN"
	Undelivered          Kind = "UNDELIVERED"
	ReceiverFailing      Kind = "RECEIVER_FAILING"
	EventsWaiting        Kind = "EVENTS_WAITING"
	EventsLost           Kind = "EVENTS_LOST"
	BatchStuck           Kind = "BATCH_STUCK"
	BatchFailing         Kind = "BATCH_FAILING"
	NotReady             Kind = "NOT_READY"
	Warning              Kind = "WARNING"
	BackupLate           Kind = "BACKUP_LATE"
	CertificateEnding    Kind = "CERTIFICATE_ENDING"
	NoStandby            Kind = "NO_STANDBY"
)

// Severity says how bad it is.
type Severity string

// The severities.
const (
	Attention Severity = "attention"
	Broken    Severity = "broken"
)

// Severities returns all severities.
func Severities() []Severity { return []Severity{Attention, Broken} }

// Type is what a finding is about.
type Type string

// The types of subjects.
const (
	Instance Type = "instance"
	Receiver Type = "receiver"
	Batch    Type = "batch"
	Program  Type = "program"
)

// kind is what belongs to a kind.
type kind struct {
	kind   Kind
	of     Type
	text   func(i Item) string
	advice string
	page   string // of the console; %s is the origin
}

var kinds = []kind{
	{InstanceLoggedOut, Instance, are("logged out", "logged out"), "Pair it again, or log it out by the API if it is not wanted any more.", "instances?trouble=INSTANCE_LOGGED_OUT"},
	{InstanceWrongNetwork, Instance, are("of another network than this program is connected to", "of another network than this program is connected to"), "Set sandbox.enabled or whatsapp.endpoint as it was when the account was paired.", "instances?trouble=INSTANCE_WRONG_NETWORK"},
	{InstanceOutdated, Instance, are("refused because the client version is outdated", "refused because the client version is outdated"), "Set whatsapp.version to auto, or install a newer Postern.", "instances?trouble=INSTANCE_OUTDATED"},
	{InstanceStopped, Instance, are("stopped and does not connect by itself", "stopped and do not connect by themselves"), "Look at lastError and restart it.", "instances?trouble=INSTANCE_STOPPED"},
	{InstanceRestricted, Instance, are("restricted by WhatsApp", "restricted by WhatsApp"), "Wait for the end of the restriction, and send less to people who do not know the account.", "instances?trouble=INSTANCE_RESTRICTED"},
	{InstanceOffline, Instance, are("offline and trying to connect", "offline and trying to connect"), "Check the network of this machine and the proxy of the instance.", "instances?trouble=INSTANCE_OFFLINE"},
	{PhoneNotSeen, Instance, func(i Item) string { return "The phone of " + these(i.Count, "instance") + " gave no sign for days" }, "Open WhatsApp on the phone: WhatsApp unlinks devices whose phone was not seen for about 14 days.", "instances?trouble=PHONE_NOT_SEEN"},
	{Undelivered, Instance, func(i Item) string { return "Many messages of " + these(i.Count, "instance") + " have no receipt" }, "Check on the account's phone whether messages arrive, and send less until they do.", "instances?trouble=UNDELIVERED"},
	{ReceiverFailing, Receiver, func(i Item) string {
		text := at(i) + " does not accept events"
		if i.Waiting > 0 {
			text += "; " + waits(i.Waiting)
		}
		return text
	}, "See to the receiver, then test it: an accepted test sends what waits at once.", "deliveries?origin=%s"},
	{EventsWaiting, Receiver, func(i Item) string { return waits(i.Waiting) + " for " + at(i) }, "See to the receiver or the program that pulls, or pause the receiver while it is being repaired.", "deliveries?origin=%s"},
	{EventsLost, Receiver, func(i Item) string { return "Events for " + at(i) + " were lost" }, "See to the receiver, set durable in the options of the webhook, and give waiting events more room or time.", "deliveries?state=DROPPED,EXPIRED,CANCELLED"},
	{BatchStuck, Batch, func(i Item) string {
		return these(i.Count, "batch") + " " + isOr(i.Count, "waits", "wait") + " for an instance, and none is online"
	}, "Bring an instance of the batch online, or pause the batch.", "batches?trouble=BATCH_STUCK"},
	{BatchFailing, Batch, func(i Item) string {
		return "A fifth or more of the messages of " + these(i.Count, "batch") + " failed"
	}, "Pause the batch and look at the error codes of its items.", "batches?trouble=BATCH_FAILING"},
	{NotReady, Program, func(Item) string { return "Postern cannot do its work" }, "Read the reason, and docs/operation.md about it.", ""},
	{Warning, Program, func(i Item) string { return these(i.Count, "warning") + " about this program" }, "Do what the warning says.", ""},
	{BackupLate, Program, func(Item) string { return "The last backup is late" }, "Look at the log for the reason, and make room in backup.dir.", ""},
	{CertificateEnding, Program, func(Item) string { return "The certificate of the API ends soon" }, "Renew the certificate; the program reads new files by itself.", ""},
	{NoStandby, Program, func(Item) string { return "No other node is ready to take over" }, "Start a second node of the cell.", ""},
}

// Kinds returns all kinds.
func Kinds() (all []Kind) {
	for _, k := range kinds {
		all = append(all, k.kind)
	}
	return all
}

// TypeOf returns what a kind is about.
func TypeOf(k Kind) Type { return lookup(k).of }

func lookup(k Kind) kind {
	return kinds[slices.IndexFunc(kinds, func(row kind) bool { return row.kind == k })]
}

// are returns the text of instances in a condition.
func are(one, many string) func(Item) string {
	return func(i Item) string {
		return these(i.Count, "instance") + " " + isOr(i.Count, "is "+one, "are "+many)
	}
}

func isOr(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// these returns a number of things.
func these(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case noun == "batch":
		noun = "batche"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func waits(n int) string { return these(n, "event") + " " + isOr(n, "waits", "wait") }

// at returns where receivers are.
func at(i Item) string {
	if i.Origin == nil {
		return these(i.Count, "receiver")
	}
	if i.Count == 1 {
		return *i.Origin
	}
	return fmt.Sprintf("%s (%s)", *i.Origin, these(i.Count, "receiver"))
}
