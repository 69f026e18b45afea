package event

// Poll is a poll as its message has it.
type Poll struct {
	Name            string   `json:"name" doc:"The question." example:"When?"`
	Options         []string `json:"options" doc:"The options, in order." example:"now,later"`
	SelectableCount int      `json:"selectableCount" doc:"How many options one person can choose; 0: any number." example:"1"`
	CreatedAt       Time     `json:"createdAt"`
}

// PollTally is a poll with the votes that count.
type PollTally struct {
	Poll         Poll          `json:"poll" doc:"The poll."`
	Votes        []PollVote    `json:"votes" doc:"The last vote of each person, in the order of their times."`
	Tally        []OptionCount `json:"tally" doc:"How many people chose each option, in the order of the poll."`
	UnknownVotes int           `json:"unknownVotes" doc:"How many votes could not be decrypted." example:"0"`
}

// PollVote is the vote of one person.
type PollVote struct {
	Voter   Voter    `json:"voter" doc:"Who voted."`
	Options []string `json:"options" doc:"The chosen options." example:"now"`
	At      Time     `json:"at" doc:"When, by the voter's clock." example:"$time"`
}

// Voter is a person who voted.
type Voter struct {
	JID  string  `json:"jid"`
	LID  *string `json:"lid"`
	Name *string `json:"name" doc:"The name that the person chose; null when it is not known." example:"Ada"`
}

// OptionCount is how many people chose an option.
type OptionCount struct {
	Option string `json:"option" doc:"The option." example:"now"`
	Count  int    `json:"count" doc:"How many people chose it." example:"3"`
}
