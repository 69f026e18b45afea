// Validates the AsyncAPI document that is named on the command line.
import { readFileSync } from "node:fs";
import { Parser } from "@asyncapi/parser";

const { document, diagnostics } = await new Parser().parse(readFileSync(process.argv[2], "utf8"));
const errors = diagnostics.filter((d) => d.severity === 0);
for (const d of errors) console.error(`${d.path.join(".")}: ${d.message}`);
const channels = document?.channels().all().map((c) => c.address()) ?? [];
if (errors.length || channels.toSorted().join() !== "/ws/console,/ws/global/events,/ws/instance/events") {
  console.error("the AsyncAPI document is not valid, or does not describe the three WebSockets:", channels);
  process.exit(1);
}
console.log("AsyncAPI: valid,", channels.join(" and "));
