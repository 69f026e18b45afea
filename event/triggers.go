package event

// Triggers names what brings an instance event about: events of the client
// library by their type, or a step of the program itself. It is empty for
// batch events, which come from rows of the batch state table.
func Triggers(k Kind) []string {
	switch k {
	case CallUpsert:
		return []string{"CallOffer", "CallAccept", "CallOfferNotice", "CallPreAccept", "CallTerminate", "CallReject", "UnknownCallEvent"}
	case ChatsDelete:
		return []string{"DeleteChat"}
	case ChatsUpdated:
		return []string{
			"Blocklist", "BlocklistChange", "Archive", "UnarchiveChatsSetting", "ClearChat", "Pin", "Mute", "MarkChatAsRead",
		}
	case ConnectionUpdated:
		return []string{
			"PairSuccess", "PairError", "Connected", "Disconnected", "LoggedOut", "StreamReplaced", "KeepAliveTimeout",
			"KeepAliveRestored", "ConnectFailure", "ManualLoginReconnect", "StreamError", "CATRefreshError",
			"PairPasskeyRequest", "PairPasskeyConfirmation",
		}
	case ContactsUpdate:
		return []string{"PushName", "BusinessName"}
	case ContactsUpsert:
		return []string{"Contact"}
	case GroupsParticipantsEvent, GroupsUpdate:
		return []string{"GroupInfo"}
	case GroupsUpsert:
		return []string{"JoinedGroup"}
	case HistorySync:
		return []string{"HistorySync"}
	case LabelsAssociation:
		return []string{"LabelAssociationChat", "LabelAssociationMessage"}
	case LabelsEdit:
		return []string{"LabelEdit"}
	default:
		return moreTriggers(k)
	}
}

func moreTriggers(k Kind) []string {
	switch k {
	case IdentityUpdate:
		return []string{"IdentityChange"}
	case MediaRetry:
		return []string{"MediaRetry"}
	case MessagesDelete:
		return []string{"DeleteForMe"}
	case MessagesStar:
		return []string{"Star"}
	case MessagesUndecryptable:
		return []string{"UndecryptableMessage"}
	case MessagesUpdate:
		return []string{"Receipt"}
	case MessagesUpsert:
		return []string{"Message", "FBMessage"}
	case NewsLetter:
		return []string{"NewsletterJoin", "NewsletterLeave", "NewsletterLiveUpdate", "NewsletterMessageMeta", "NewsletterMuteChange"}
	case PresenceUpdated:
		return []string{"ChatPresence", "Presence"}
	case ProfilePictureUpdate:
		return []string{"Picture"}
	case QRCodeUpdated:
		return []string{"QR channel"}
	case SendMessage:
		return []string{"send route"}
	case SettingsUpdate:
		return []string{"PushNameSetting", "UserStatusMute"}
	case StatusInstance:
		return []string{
			"ClientOutdated", "TemporaryBan", "OfflineSyncPreview", "OfflineSyncCompleted", "PrivacySettings", "AppState",
			"AppStateSyncComplete", "AppStateSyncError", "NotifyAccountReachoutTimelock",
			"refused sends",
		}
	case UserAboutUpdate:
		return []string{"UserAbout"}
	default:
		return nil
	}
}
