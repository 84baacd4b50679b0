package bench;

import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import java.io.ByteArrayOutputStream;
import java.io.ObjectOutputStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Reads the changes of one table with Debezium's engine inside this process, and drops them. Between 20 and 90 per cent of the
 * events it measures, as the other programs of the benchmark do, and prints "events bytes wall-ns cpu-ns peak-kib".
 *
 * Arguments: host, port, password, table, events, LSN to begin after, folder for its files.
 */
public final class Reader {
    private static final String NAME = "bench";

    private final long total;
    private final CountDownLatch done = new CountDownLatch(1);
    private long events, bytes, wall, cpu, fromEvents, fromBytes;
    private boolean measuring, ended;
    private volatile String failure;

    private Reader(long total) {
        this.total = total;
    }

    public static void main(String[] args) throws Exception {
        Path folder = Path.of(args[6]);
        Path offsets = folder.resolve("offsets.dat");
        writeOffset(offsets, args[5]);
        Properties p = new Properties();
        p.setProperty("name", NAME);
        p.setProperty("connector.class", "io.debezium.connector.sqlserver.SqlServerConnector");
        p.setProperty("topic.prefix", NAME);
        p.setProperty("database.hostname", args[0]);
        p.setProperty("database.port", args[1]);
        p.setProperty("database.user", "sa");
        p.setProperty("database.password", args[2]);
        p.setProperty("database.names", "testdb");
        p.setProperty("table.include.list", args[3]);
        p.setProperty("driver.encrypt", "false");
        // The position is given, and the history of schemas is made anew.
        p.setProperty("snapshot.mode", "recovery");
        p.setProperty("schema.history.internal", "io.debezium.relational.history.MemorySchemaHistory");
        p.setProperty("offset.storage", "org.apache.kafka.connect.storage.FileOffsetBackingStore");
        p.setProperty("offset.storage.file.filename", offsets.toString());
        p.setProperty("offset.flush.interval.ms", "1000");
        p.setProperty("converter.schemas.enable", "false");
        p.setProperty("tombstones.on.delete", "false");
        p.setProperty("errors.max.retries", "0");
        System.exit(new Reader(Long.parseLong(args[4])).run(p) ? 0 : 1);
    }

    private boolean run(Properties p) throws Exception {
        DebeziumEngine<ChangeEvent<String, String>> engine = DebeziumEngine.create(Json.class).using(p)
            .using((DebeziumEngine.CompletionCallback) (ok, message, error) -> {
                if (!ok) {
                    failure = message + (error == null ? "" : ": " + error);
                }
                done.countDown();
            })
            .notifying((DebeziumEngine.ChangeConsumer<ChangeEvent<String, String>>) this::take).build();
        Thread thread = new Thread(engine, "engine");
        thread.setDaemon(true);
        thread.start();
        if (!done.await(10, TimeUnit.MINUTES)) {
            failure = "it has read " + events + " of " + total + " events in ten minutes";
        }
        if (!ended) {
            System.err.println(failure == null ? "it ended after " + events + " events" : failure);
        }
        return ended;
    }

    private void take(List<ChangeEvent<String, String>> batch, DebeziumEngine.RecordCommitter<ChangeEvent<String, String>> committer) throws InterruptedException {
        for (ChangeEvent<String, String> e : batch) {
            String body = e.value();
            if (body != null && body.contains("\"op\":")) {
                events++;
                bytes += body.length();
            }
            committer.markProcessed(e);
        }
        committer.markBatchFinished();
        if (!measuring && events >= total / 5) {
            measuring = true;
            fromEvents = events;
            fromBytes = bytes;
            wall = System.nanoTime();
            cpu = cpuTime();
        } else if (measuring && !ended && events >= total * 9 / 10) {
            ended = true;
            System.out.println((events - fromEvents) + " " + (bytes - fromBytes) + " " + (System.nanoTime() - wall) + " " + (cpuTime() - cpu) + " " + peak());
            done.countDown();
        }
    }

    private static long cpuTime() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    private static long peak() {
        try {
            for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
                if (line.startsWith("VmHWM:")) {
                    return Long.parseLong(line.replaceAll("[^0-9]", ""));
                }
            }
        } catch (java.io.IOException e) {
            return 0; // not a Linux system
        }
        return 0;
    }

    /** Writes the file of Kafka Connect's FileOffsetBackingStore with one position in it. */
    private static void writeOffset(Path file, String lsn) throws java.io.IOException {
        HashMap<byte[], byte[]> map = new HashMap<>();
        map.put(("[\"" + NAME + "\",{\"server\":\"" + NAME + "\",\"database\":\"testdb\"}]").getBytes(StandardCharsets.UTF_8),
            ("{\"commit_lsn\":\"" + lsn + "\",\"change_lsn\":\"" + lsn + "\",\"event_serial_no\":1}").getBytes(StandardCharsets.UTF_8));
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (ObjectOutputStream o = new ObjectOutputStream(out)) {
            o.writeObject(map);
        }
        Files.write(file, out.toByteArray());
    }
}
