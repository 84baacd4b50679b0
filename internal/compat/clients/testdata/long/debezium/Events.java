import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import java.io.PrintStream;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;

/**
 * Runs Debezium's engine with the properties of a file and prints each event as a line of JSON, until its standard input
 * ends. Offsets are saved when it stops.
 */
public final class Events {
    private static volatile boolean stopping;

    public static void main(String[] args) throws Exception {
        System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "warn");
        Properties p = new Properties();
        try (Reader r = Files.newBufferedReader(Path.of(args[0]))) {
            p.load(r);
        }
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        DebeziumEngine<ChangeEvent<String, String>> engine = DebeziumEngine.create(Json.class).using(p)
            .using((DebeziumEngine.CompletionCallback) (ok, message, error) -> {
                if (!ok && !stopping) {
                    System.err.println(message);
                    if (error != null) {
                        error.printStackTrace();
                    }
                    Runtime.getRuntime().halt(1);
                }
            })
            .notifying((DebeziumEngine.ChangeConsumer<ChangeEvent<String, String>>) (List<ChangeEvent<String, String>> batch,
                    DebeziumEngine.RecordCommitter<ChangeEvent<String, String>> committer) -> {
                for (ChangeEvent<String, String> e : batch) {
                    out.println("{\"topic\":\"" + e.destination() + "\",\"key\":" + e.key() + ",\"value\":" + e.value() + "}");
                    committer.markProcessed(e);
                }
                out.flush();
                committer.markBatchFinished();
            }).build();
        Thread thread = new Thread(engine, "engine");
        thread.start();
        while (System.in.read() >= 0) {
            // only the end matters
        }
        stopping = true;
        engine.close();
        thread.join();
        System.exit(0);
    }
}
