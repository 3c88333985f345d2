// Adds one number after the other to a set by a client library, and prints those that were acknowledged.
// The options of the client come as JSON on the standard input.
const { library, set, authority, options } = JSON.parse(require("fs").readFileSync(0));
const loaded = require(library);
const Redis = loaded.default || loaded;
// The addresses of the tests are in no certificate.
const tls = { ca: authority, checkServerIdentity: () => undefined };
const client = new Redis({
  ...options,
  tls,
  sentinelTLS: tls,
  enableTLSForSentinelMode: true,
  failoverDetector: true,
  maxRetriesPerRequest: null,
  retryStrategy: () => 50,
  sentinelRetryStrategy: () => 50,
});
client.on("error", (e) => console.error(e.message));

async function write() {
  for (let n = 1; ; n++) {
    try {
      await client.sadd(set, n);
      console.log(n);
    } catch (e) {
      console.error(e.message); // NOREPLICAS, for example: nothing was written
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
write();
