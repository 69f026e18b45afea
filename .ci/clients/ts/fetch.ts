// A client of openapi-fetch with the types that openapi-typescript made: it sends and reads, against a program with its
// sandbox. Nothing in it is cast.
import { readFileSync } from "node:fs";
import createClient from "openapi-fetch";
import type { components, paths } from "./generated/schema.js";

type BatchMessage = components["schemas"]["BatchMessage"];

const { BASE = "", KEY = "", FILES = "", FOLDER = "" } = process.env;
const number = "4915112345678";
const pause = () => new Promise((done) => setTimeout(done, 50));

const client = (headers: Record<string, string>) => createClient<paths>({ baseUrl: BASE, headers });

// got is the data of an answer; a refusal ends the run.
function got<T>(what: string, answer: { data?: T; error?: unknown; response: Response }): T {
  if (answer.data === undefined) {
    console.error(what, answer.response.status, JSON.stringify(answer.error));
    process.exit(1);
  }
  return answer.data;
}

const admin = client({ apikey: KEY });
const created = got("createInstance", await admin.POST("/instance", { body: { instanceName: "fetch" } }));
if (!created.Auth) throw new Error("createInstance tells no token to the key that may have it"); // a scoped key is told none
const token = created.Auth.token;
const account = client({ authorization: `Bearer ${token}` });
const user = got("createUserToken", await admin.POST("/auth/user-token", { body: { expiresIn: 3600 } }));
const owner = client({ authorization: `Bearer ${user.token}` });
const path = { instanceName: created.name };

got("connectInstance", await account.GET("/instance/{instanceName}/connect", { params: { path } }));
for (;;) {
  const status = got("getConnectionStatus", await account.GET("/instance/{instanceName}/connection/status", { params: { path } }));
  if (status.connectionStatus === "ONLINE") break;
  await pause();
}

const sent = got("sendText", await account.POST("/instance/{instanceName}/send/text", {
  params: { path, header: { "Idempotency-Key": "one" } },
  body: { number, textMessage: { text: "hello" }, options: { delay: 0, externalAttributes: { order: 42 } } },
}));
if (sent.status === "processing") throw new Error(`a send without mentionAll was accepted and not carried out: ${sent.processId}`);
const { text } = sent.content;
if (text !== "hello") throw new Error(`the content of ${sent.keyId} is ${JSON.stringify(sent.content)}`);
got("sendMedia", await account.POST("/instance/{instanceName}/send/media", {
  params: { path },
  body: { number, mediaMessage: { mediatype: "image", media: `${FILES}/photo.jpg`, caption: "a picture" }, options: { quotedMessageId: sent.id } },
}));
const picture = new Blob([readFileSync(`${FOLDER}/photo.jpg`)], { type: "image/jpeg" });
const form = new FormData();
form.append("number", number);
form.append("mediaType", "image");
form.append("attachment", picture, "photo.jpg");
got("sendMediaFile", await account.POST("/instance/{instanceName}/send/media-file", {
  params: { path },
  body: { number, mediaType: "image", attachment: "photo.jpg" },
  bodySerializer: () => form,
}));
const upload = got("createUpload", await account.POST("/instance/{instanceName}/media/uploads", {
  params: { path }, body: { mediaType: "image", media: `${FILES}/photo.jpg` },
}));
got("sendMedia of an upload", await account.POST("/instance/{instanceName}/send/media", {
  params: { path }, body: { number, mediaMessage: { mediatype: "image", mediaUploadId: upload.id } },
}));

const messages: BatchMessage[] = [
  { type: "text", payload: { text: "hello" } },
  { type: "link", payload: { link: "https://example.org/", title: "an example" } },
  { type: "media", payload: { mediatype: "image", media: `${FILES}/photo.jpg` } },
  { type: "audio", payload: { audio: `${FILES}/note.ogg` } },
  { type: "contact", payload: { fullName: "Ada Lovelace", phoneNumber: "4915187654321" } },
  { type: "location", payload: { latitude: 52.5, longitude: 13.4 } },
];
for (const message of messages) {
  const made = got("createBatch", await owner.POST("/message/batches", {
    body: { name: `fetch ${message.type}`, instances: [created.name], recipients: [number], message },
  }));
  for (;;) {
    const batch = got("getBatch", await owner.GET("/message/batches/{batchId}", { params: { path: { batchId: made.id } } }));
    if (batch.status === "COMPLETED") break;
    if (batch.status === "COMPLETED_WITH_ERRORS") throw new Error(`${message.type}: ${JSON.stringify(batch)}`);
    await pause();
  }
}

const instances = got("listInstances", await admin.GET("/instance"));
if (!instances.some((one) => one.name === "fetch" && one.Auth?.token === token)) throw new Error("listInstances");
const first = got("listBatches", await owner.GET("/message/batches", { params: { query: { limit: 1 } } }));
const second = got("the next page", await owner.GET("/message/batches", { params: { query: { limit: 1, nextCursor: first.nextCursor ?? "" } } }));
const batch = second.records[0];
if (!batch || batch.id === first.records[0]?.id || batch.message.type !== "contact") throw new Error("listBatches");
console.log("a contact of a batch:", batch.message.payload);
const items = got("listBatchItems", await owner.GET("/message/batches/{batchId}/items", { params: { path: { batchId: batch.id } } }));
if (items.records[0]?.status !== "SUCCESS") throw new Error("listBatchItems");
const page = got("listMessages", await account.POST("/instance/{instanceName}/db/messages", { params: { path }, body: { limit: 1, filter: { keyFromMe: true } } }));
got("the next messages", await account.POST("/instance/{instanceName}/db/messages", {
  params: { path }, body: { limit: 1, cursor: page.messages.pageInfo.nextCursor ?? "" },
}));
got("listChats", await account.GET("/instance/{instanceName}/chats", { params: { path } }));
got("listUploads", await account.GET("/instance/{instanceName}/media/uploads", { params: { path } }));

const refused = await account.POST("/instance/{instanceName}/db/messages", { params: { path }, body: { limit: 1000 } });
if (refused.error?.code !== "INVALID_QUERY") throw new Error(`a refusal: ${JSON.stringify(refused.error)}`);
console.log("openapi-typescript: sent text, media, a file and six batches, and read the lists");
