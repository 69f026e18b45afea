#!/usr/bin/env bash
# Keeps the data file of a program, for the programs after it to be held against:
#
#   make.sh PROGRAM FOLDER
#
# starts the program with its simulated network, has it do what README.md beside this
# file lists, writes down what its interface then says (contents.json), stops it in
# order, and leaves that with both data files, packed, in FOLDER. Needs curl 7.82, jq
# and port 18084.
set -euo pipefail

program=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
work=$(mktemp -d)
trap 'kill %1 2>/dev/null || true; wait; rm -rf "$work"' EXIT

BASE=http://127.0.0.1:18084
KEY=upgrade-test-0123456789abcdef
export SERVER_LISTEN=127.0.0.1:18084 SANDBOX_ENABLED=true SANDBOX_PATH=$work/sandbox.db STORE_PATH=$work/postern.db \
	AUTHENTICATION_GLOBAL_AUTH_TOKEN=$KEY AUTHENTICATION_JWT_SECRET=upgrade-test-secret-0123456789-abcdefghijklmnop \
	WEBHOOK_GLOBAL_URL=http://127.0.0.1:9/global WEBHOOK_GLOBAL_ENABLED=true
OWNER=0196f0a0-0000-7000-8000-000000000001

cd "$work"
"$program" serve >"$work/log" 2>&1 &

call() { curl -sS --fail-with-body "$@" || { echo "call $*" >&2; return 1; }; }
# until COMMAND waits until it succeeds.
until_() {
	for _ in $(seq 600); do
		if "$@" >/dev/null 2>&1; then return; fi
		sleep 0.1
	done
	echo "not within a minute: $*" >&2
	tail -20 "$work/log" >&2
	exit 1
}
ready() { call $BASE/ready; }
until_ ready

# make_instance NAME creates it and waits until it is paired.
make_instance() {
	call -X POST $BASE/instance -H "apikey: $KEY" --json "{\"instanceName\":\"$1\"}" | jq -er .Auth.token
}
online() { call "$BASE/instance/$1/connection/status" -H "Authorization: Bearer $2" | jq -e '.connectionStatus == "ONLINE"'; }
SHOP=$(make_instance shop)
DESK=$(make_instance desk)
call -X POST $BASE/instance/shop/connect -H "Authorization: Bearer $SHOP" >/dev/null
call -X POST $BASE/instance/desk/connect -H "Authorization: Bearer $DESK" >/dev/null
until_ online shop "$SHOP"
until_ online desk "$DESK"
number() { call "$BASE/instance/$1" -H "Authorization: Bearer $2" | jq -er .ownerJid | grep -oE '^[0-9]+'; }
DESK_NUMBER=$(number desk "$DESK")

# A receiver that is not there, and one further: what is for them waits.
call -X PUT $BASE/instance/shop/webhook -H "Authorization: Bearer $SHOP" \
	--json '{"url":"http://127.0.0.1:9/shop","events":{"messagesUpsert":true,"sendMessage":true}}' >/dev/null
call -X PUT $BASE/instance/shop/webhook/options -H "Authorization: Bearer $SHOP" --json '{"durable":true,"order":"chat","maxAge":"720h",
	"headers":{"X-Shop":"of the shop"},"endpoints":[{"id":"crm","url":"http://127.0.0.1:9/crm","events":{"messagesUpsert":true}}]}' >/dev/null
call -X PUT $BASE/instance/desk/webhook -H "Authorization: Bearer $DESK" --json '{"url":"http://127.0.0.1:9/desk","enabled":false,"events":{"connectionUpdated":true}}' >/dev/null
call -X PUT $BASE/instance/desk/settings -H "Authorization: Bearer $DESK" --json '{"rejectCalls":{"enabled":true,"message":"write instead"}}' >/dev/null
call -X PUT $BASE/instance/shop/limits -H "Authorization: Bearer $SHOP" --json '{"perDay":5000}' >/dev/null

# Messages: with a contact that answers, with the other instance, in a group.
text() { # INSTANCE TOKEN NUMBER TEXT
	call -X POST "$BASE/instance/$1/send/text" -H "Authorization: Bearer $2" --json "{\"number\":\"$3\",\"textMessage\":{\"text\":\"$4\"}}" >/dev/null
}
stored() { call "$BASE/instance/$1/chats/$3@s.whatsapp.net/messages?limit=100" -H "Authorization: Bearer $2" | jq -e --arg t "$4" '[.records[].content | tostring | select(contains($t))] | length > 0'; }
for n in 1 2 3; do text shop "$SHOP" 4915550001001 "echo question $n"; done
until_ stored shop "$SHOP" 4915550001001 "question 3"
text shop "$SHOP" "$DESK_NUMBER" "from the shop to the desk"
text desk "$DESK" 4915550001002 "from the desk"
waiting() { call "$BASE/instance/shop/webhook/deliveries?state=PENDING&endpointId=crm" -H "Authorization: Bearer $SHOP" | jq -e '.records | length >= 3'; }
until_ waiting

# A batch that ended and one that is paused after some of its messages.
USER_TOKEN=$("$program" token user --id $OWNER --ttl 1h)
batch() { call -X POST $BASE/message/batches -H "Authorization: Bearer $USER_TOKEN" --json "$1" | jq -er .id; }
status() { call "$BASE/message/batches/$1" -H "Authorization: Bearer $USER_TOKEN" | jq -e --arg s "$2" '.status == $s'; }
some() { call "$BASE/message/batches/$1" -H "Authorization: Bearer $USER_TOKEN" | jq -e '.counts.success >= 2'; }
DONE=$(batch '{"name":"finished","instances":["shop","desk"],"recipients":["4915551110001","4915551110002","4915551110003","4915551110004"],
	"message":{"type":"text","payload":{"text":"spring"}}}')
until_ status "$DONE" COMPLETED
HALF=$(batch "{\"name\":\"paused\",\"instances\":[\"desk\"],\"recipients\":[$(seq -s, -f '"49155522200%02.0f"' 1 20)],
	\"message\":{\"type\":\"text\",\"payload\":{\"text\":\"summer\"}},\"options\":{\"delay\":{\"minMs\":300,\"maxMs\":400}}}")
until_ some "$HALF"
call -X POST "$BASE/message/batches/$HALF/pause" -H "Authorization: Bearer $USER_TOKEN" >/dev/null
until_ status "$HALF" PAUSED
sleep 2 # receipts, and what is written behind

# What the interface says, to be said by every later program too.
{
	get() { # WHO TOKEN PATH FILTER
		call "$BASE$3" -H "$( [ "$1" = key ] && echo apikey: "$2" || echo Authorization: Bearer "$2")" | jq --arg who "$1" --arg path "$3" "{who:\$who, path:\$path, answer:($4)}"
	}
	for i in shop:$SHOP desk:$DESK; do
		get "${i%%:*}" "${i#*:}" "/instance/${i%%:*}" '{id, name, ownerJid, createdAt}'
		get "${i%%:*}" "${i#*:}" "/instance/${i%%:*}/webhook" '{id, url, enabled, events}'
		get "${i%%:*}" "${i#*:}" "/instance/${i%%:*}/webhook/options" .
		get "${i%%:*}" "${i#*:}" "/instance/${i%%:*}/settings" .
		get "${i%%:*}" "${i#*:}" "/instance/${i%%:*}/contacts" .
		get "${i%%:*}" "${i#*:}" "/instance/${i%%:*}/chats" .
	done
	get shop "$SHOP" /instance/shop/limits '{perDay}'
	get shop "$SHOP" "/instance/shop/chats/4915550001001@s.whatsapp.net/messages?limit=100" .
	get shop "$SHOP" "/instance/shop/chats/$DESK_NUMBER@s.whatsapp.net/messages?limit=100" .
	get desk "$DESK" "/instance/desk/chats/4915550001002@s.whatsapp.net/messages?limit=100" .
	for d in $(call "$BASE/instance/shop/webhook/deliveries?state=PENDING&limit=200" -H "Authorization: Bearer $SHOP" | jq -r '.records[].id'); do
		get shop "$SHOP" "/instance/shop/webhook/deliveries/$d" '{id, eventId, event, target, endpointId, replayable, body}'
	done
	for b in $DONE $HALF; do
		get user "$USER_TOKEN" "/message/batches/$b" '{id, name, status, counts}'
		get user "$USER_TOKEN" "/message/batches/$b/items?limit=200" .
		get user "$USER_TOKEN" "/message/batches/$b/attempts?limit=200" .
		get user "$USER_TOKEN" "/message/batches/$b/events?limit=200" '{records:[.records[] | {sequence, event}]}'
	done
} | jq -s --arg shop "$SHOP" --arg desk "$DESK" --arg owner $OWNER --arg done "$DONE" --arg half "$HALF" --arg version "$("$program" version)" \
	'{version:$version, tokens:{shop:$shop, desk:$desk}, owner:$owner, finished:$done, paused:$half, answers:.}' >"$folder/contents.json"

kill %1
wait %1
for f in postern.db sandbox.db; do gzip -9nc "$work/$f" >"$folder/$f.gz"; done
ls -l "$folder"
