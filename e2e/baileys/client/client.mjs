// Runs Baileys, as npm delivers it, as a client of the sandbox. The test writes requests to the standard input, one JSON
// object a line: {"id", "do", "args"}. This program writes answers {"id", "value"} or {"id", "error"}, and the events of
// Baileys as {"event", "data"}. Bytes are {"type": "Buffer", "data": base64}, as in Baileys' own files.
//
// Environment: SANDBOX_PORT, SANDBOX_ROOT_KEY (hex), AUTH_FOLDER, BAILEYS_LOG, NODE_EXTRA_CA_CERTS (read by Node.js).
import { writeSync } from 'node:fs'
import readline from 'node:readline'
import tls from 'node:tls'
import makeWASocket, {
	BufferJSON, DisconnectReason, WA_CERT_DETAILS, downloadMediaMessage, useMultiFileAuthState,
} from '@whiskeysockets/baileys'
import pino from 'pino'

// Every TLS connection goes to the sandbox, whose certificate has WhatsApp's names: WebSocket and media. None leaves the
// machine.
const port = Number(process.env.SANDBOX_PORT)
const connect = tls.connect
tls.connect = (options, ...rest) => connect({
	...options, host: '127.0.0.1', port, servername: options.servername || options.host, path: undefined,
}, ...rest)

// Baileys has no option for the root key of the Noise certificates, but exports the object that it reads it from.
WA_CERT_DETAILS.PUBLIC_KEY = Buffer.from(process.env.SANDBOX_ROOT_KEY, 'hex')

// Its Signal library prints to the console.
globalThis.console = new console.Console(process.stderr)

const write = line => writeSync(1, JSON.stringify(line, BufferJSON.replacer) + '\n')
process.on('uncaughtException', error => { write({ event: 'crash', data: error.stack }); process.exit(1) })
process.on('unhandledRejection', error => { write({ event: 'crash', data: error?.stack ?? String(error) }); process.exit(1) })

const logger = pino({ level: process.env.BAILEYS_LOG || 'warn' }, pino.destination({ fd: 2, sync: true }))
const known = new Map() // messages by id: Baileys asks for them when a receiver wants one again
let auth, socket
let ended = false

// open connects as the example of Baileys' README does: it reads the credentials each time, and connects again unless the
// account was logged out.
async function open(options) {
	const { state, saveCreds } = auth = await useMultiFileAuthState(process.env.AUTH_FOLDER)
	socket = makeWASocket({ auth: state, logger, getMessage: async key => known.get(key.id), ...options })
	socket.ev.process(async events => {
		for (const message of events['messages.upsert']?.messages ?? []) known.set(message.key.id, message.message)
		for (const [event, data] of Object.entries(events)) {
			write({ event, data: event === 'connection.update' ? update(data) : data })
		}
		if (events['creds.update']) await saveCreds()
		const last = events['connection.update']
		if (last?.connection === 'close' && !ended && code(last) !== DisconnectReason.loggedOut) await open(options)
	})
}

const code = update => update.lastDisconnect?.error?.output?.statusCode

function update({ lastDisconnect, ...rest }) {
	return lastDisconnect ? { ...rest, code: code({ lastDisconnect }), error: String(lastDisconnect.error) } : rest
}

const actions = {
	open: (options = {}) => open(options),
	async end() {
		ended = true
		await socket.end(undefined)
		await auth.saveCreds() // after all earlier writes
	},
	credentials: () => ({ me: auth.state.creds.me, registered: auth.state.creds.registered }),
	async download(message) { return await downloadMediaMessage(message, 'buffer', {}, { logger, reuploadRequest: socket.updateMediaMessage }) },
}

for await (const line of readline.createInterface({ input: process.stdin })) {
	const { id, do: name, args = [] } = JSON.parse(line, BufferJSON.reviver)
	const action = actions[name] ?? socket?.[name]
	Promise.resolve().then(() => action(...args)).then(
		value => write({ id, value: value ?? null }),
		error => write({ id, error: error?.stack ?? String(error) }),
	)
}
process.exit(0)
