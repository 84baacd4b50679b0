// node .ci/screenshot.mjs BROWSER PROFILE URL SECONDS FILE.png: opens a page in a headless Chromium, waits in real time, so that rates are
// those of the server, and takes a picture. It speaks the DevTools protocol over the browser's pipe: JSON, each ended by a NUL.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";

const [browser, profile, url, seconds, file] = process.argv.slice(2);
const child = spawn(browser, ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1180,640", "--user-data-dir=" + profile, "--remote-debugging-pipe"],
  { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
const answers = new Map();
let text = "", id = 0;
child.stdio[4].on("data", data => {
  text += data;
  for (let end; (end = text.indexOf("\0")) >= 0; text = text.slice(end + 1)) {
    const m = JSON.parse(text.slice(0, end));
    if (m.id) answers.get(m.id)(m);
  }
});

function call(method, params, sessionId) {
  return new Promise((ok, no) => {
    answers.set(++id, m => m.error ? no(new Error(method + ": " + m.error.message)) : ok(m.result));
    child.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
  });
}

try {
  const { targetId } = await call("Target.createTarget", { url });
  const { sessionId } = await call("Target.attachToTarget", { targetId, flatten: true });
  await new Promise(ok => setTimeout(ok, seconds * 1000));
  const { data } = await call("Page.captureScreenshot", { format: "png" }, sessionId);
  writeFileSync(file, Buffer.from(data, "base64"));
} finally {
  child.kill();
}
