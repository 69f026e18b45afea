// A client that @hey-api/openapi-ts generated sends and reads, against a program with its sandbox. Nothing in it is cast.
import { readFileSync } from "node:fs";
import { createClient } from "./generated/sdk/client/index.js";
import * as sdk from "./generated/sdk/index.js";
import type { BatchMessage } from "./generated/sdk/index.js";

const { BASE = "", KEY = "", FILES = "", FOLDER = "" } = process.env;
const number = "4915112345678";
const pause = () => new Promise((done) => setTimeout(done, 50));

const admin = createClient({ baseUrl: BASE, headers: { apikey: KEY } });
const { data: created } = await sdk.createInstance({ client: admin, body: { instanceName: "sdk" }, throwOnError: true });
const { data: user } = await sdk.createUserToken({ client: admin, body: { expiresIn: 3600 }, throwOnError: true });
if (!created.Auth) throw new Error("createInstance tells no token to the key that may have it"); // a scoped key is told none
const token = created.Auth.token;
const account = createClient({ baseUrl: BASE, auth: () => token });
const owner = createClient({ baseUrl: BASE, auth: () => user.token });
const path = { instanceName: created.name };

await sdk.connectInstance({ client: account, path, throwOnError: true });
for (;;) {
  const { data } = await sdk.getConnectionStatus({ client: account, path, throwOnError: true });
  if (data.connectionStatus === "ONLINE") break;
  await pause();
}

const { data: sent } = await sdk.sendText({
  client: account, path, throwOnError: true,
  body: { number, textMessage: { text: "hello" }, options: { externalAttributes: { order: 42 } } },
});
if (sent.status === "processing") throw new Error(`a send without mentionAll was accepted and not carried out: ${sent.processId}`);
const { text } = sent.content;
if (text !== "hello") throw new Error(`the content of ${sent.keyId} is ${JSON.stringify(sent.content)}`);
await sdk.sendMedia({
  client: account, path, throwOnError: true,
  body: { number, mediaMessage: { mediatype: "image", media: `${FILES}/photo.jpg` }, options: { quotedMessageId: sent.keyId } },
});
await sdk.sendMediaFile({
  client: account, path, throwOnError: true,
  body: { number, mediaType: "image", attachment: new Blob([readFileSync(`${FOLDER}/photo.jpg`)], { type: "image/jpeg" }) },
});
const { data: upload } = await sdk.createUpload({ client: account, path, throwOnError: true, body: { mediaType: "image", media: `${FILES}/photo.jpg` } });
await sdk.sendMedia({ client: account, path, throwOnError: true, body: { number, mediaMessage: { mediaUploadId: upload.uuid } } });

const messages: BatchMessage[] = [
  { type: "text", payload: { text: "hello" } },
  { type: "link", payload: { link: "https://example.org/", title: "an example" } },
  { type: "media", payload: { mediatype: "image", media: `${FILES}/photo.jpg` } },
  { type: "audio", payload: { audio: `${FILES}/note.ogg` } },
  { type: "contact", payload: { fullName: "Ada Lovelace", phoneNumber: "4915187654321" } },
  { type: "location", payload: { latitude: 52.5, longitude: 13.4 } },
];
for (const message of messages) {
  const { data: made } = await sdk.createBatch({
    client: owner, throwOnError: true, body: { name: `sdk ${message.type}`, instances: [created.name], recipients: [number], message },
  });
  for (;;) {
    const { data: batch } = await sdk.getBatch({ client: owner, path: { batchId: made.id }, throwOnError: true });
    if (batch.status === "COMPLETED") break;
    if (batch.status === "COMPLETED_WITH_ERRORS") throw new Error(`${message.type}: ${JSON.stringify(batch)}`);
    await pause();
  }
}

const { data: instances } = await sdk.listInstances({ client: admin, throwOnError: true });
if (!instances.some((one) => one.name === "sdk")) throw new Error("listInstances");
const { data: first } = await sdk.listBatches({ client: owner, query: { limit: 1 }, throwOnError: true });
const { data: second } = await sdk.listBatches({ client: owner, query: { limit: 1, nextCursor: first.nextCursor ?? "" }, throwOnError: true });
const batch = second.records[0];
if (!batch || batch.id === first.records[0]?.id) throw new Error("listBatches");
const { data: items } = await sdk.listBatchItems({ client: owner, path: { batchId: batch.id }, throwOnError: true });
if (items.records[0]?.status !== "SUCCESS") throw new Error("listBatchItems");
const { data: page } = await sdk.listMessages({ client: account, path, body: { limit: 1 }, throwOnError: true });
await sdk.listMessages({ client: account, path, body: { limit: 1, nextCursor: page.messages.pageInfo.nextCursor }, throwOnError: true });
await sdk.listChats({ client: account, path, throwOnError: true });
await sdk.listUploads({ client: account, path, throwOnError: true });

const { error } = await sdk.listMessages({ client: account, path, body: { limit: 1000 } });
if (error?.code !== "INVALID_QUERY") throw new Error(`a refusal: ${JSON.stringify(error)}`);
console.log("hey-api: sent text, media, a file and six batches, and read the lists");
