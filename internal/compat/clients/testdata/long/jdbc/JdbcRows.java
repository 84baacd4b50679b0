import com.microsoft.sqlserver.jdbc.ISQLServerBulkData;
import com.microsoft.sqlserver.jdbc.SQLServerBulkCopy;
import com.microsoft.sqlserver.jdbc.SQLServerBulkCopyOptions;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** mssql-jdbc: "test", or "load TABLE COUNT" by SQLServerBulkCopy, "batch TABLE COUNT" by executeBatch, "read TABLE". */
public final class JdbcRows {
    private static final LocalDateTime START = LocalDateTime.of(2024, 2, 29, 0, 0);

    public static void main(String[] args) throws Exception {
        System.setOut(new java.io.PrintStream(System.out, false, StandardCharsets.UTF_8));
        try (Connection c = connect()) {
            switch (args[0]) {
                case "test" -> test(c);
                case "load" -> load(c, args[1], Integer.parseInt(args[2]));
                case "batch" -> batch(c, args[1], Integer.parseInt(args[2]));
                default -> read(c, args[1]);
            }
        }
        System.out.flush();
    }

    private static Connection connect() throws SQLException {
        String mode = System.getenv("STANDIN_TLS");
        String url = "jdbc:sqlserver://127.0.0.1:" + System.getenv("STANDIN_PORT") + ";databaseName=testdb;loginTimeout=60;encrypt="
            + (mode.equals("no") ? "false" : mode.equals("yes") ? "true" : "strict");
        if (!mode.equals("no")) {
            url += ";hostNameInCertificate=localhost;trustStoreType=PKCS12;trustStorePassword=changeit;trustStore=" + System.getenv("STANDIN_TRUST");
        }
        return DriverManager.getConnection(url, "sa", System.getenv("STANDIN_PASSWORD"));
    }

    private static Object[] row(int i) {
        BigDecimal n = BigDecimal.valueOf(i * 2501L * (i % 2 == 0 ? 1 : -1), 4);
        Timestamp ts = Timestamp.valueOf(START.plusSeconds(i).plusNanos((i * 7 % 1000) * 1_000_000L + 456_000));
        byte[] digits = Integer.toString(i).getBytes(StandardCharsets.US_ASCII);
        byte[] bin = new byte[digits.length + 2];
        bin[1] = (byte) 0xff;
        System.arraycopy(digits, 0, bin, 2, digits.length);
        return new Object[] {5_000_000_000L + i, i % 7 == 0 ? null : -i, i / 2.0, i % 2 == 0, "ü名😀-" + i, "é€-" + i, n, ts, bin};
    }

    private static void load(Connection c, String table, int count) throws SQLException {
        try (SQLServerBulkCopy b = new SQLServerBulkCopy(c)) {
            SQLServerBulkCopyOptions o = new SQLServerBulkCopyOptions();
            o.setBatchSize(2000);
            o.setBulkCopyTimeout(0);
            b.setBulkCopyOptions(o);
            b.setDestinationTableName(table);
            b.writeToServer(new Source(count));
        }
    }

    private static final class Source implements ISQLServerBulkData {
        private static final String[] NAMES = {"id", "i", "f", "b", "s", "v", "n", "ts", "bin"};
        private static final int[] TYPES = {Types.BIGINT, Types.INTEGER, Types.DOUBLE, Types.BIT, Types.NVARCHAR, Types.VARCHAR, Types.DECIMAL, Types.TIMESTAMP, Types.VARBINARY};
        private static final int[] PRECISIONS = {0, 0, 0, 0, 100, 100, 18, 26, 64};
        private static final int[] SCALES = {0, 0, 0, 0, 0, 0, 4, 6, 0};
        private final int count;
        private int at = -1;

        Source(int count) { this.count = count; }

        @Override public Set<Integer> getColumnOrdinals() {
            Set<Integer> s = new LinkedHashSet<>();
            for (int i = 1; i <= NAMES.length; i++) {
                s.add(i);
            }
            return s;
        }

        @Override public String getColumnName(int c) { return NAMES[c - 1]; }
        @Override public int getColumnType(int c) { return TYPES[c - 1]; }
        @Override public int getPrecision(int c) { return PRECISIONS[c - 1]; }
        @Override public int getScale(int c) { return SCALES[c - 1]; }
        @Override public boolean next() { return ++at < count; }
        @Override public Object[] getRowData() { return row(at); }
    }

    private static void batch(Connection c, String table, int count) throws SQLException {
        c.setAutoCommit(false);
        try (PreparedStatement p = c.prepareStatement("INSERT INTO " + table + " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")) {
            for (int i = 0; i < count; i++) {
                Object[] r = row(i);
                p.setLong(1, (Long) r[0]);
                p.setObject(2, r[1], Types.INTEGER);
                p.setDouble(3, (Double) r[2]);
                p.setBoolean(4, (Boolean) r[3]);
                p.setNString(5, (String) r[4]);
                p.setString(6, (String) r[5]);
                p.setBigDecimal(7, (BigDecimal) r[6]);
                p.setTimestamp(8, (Timestamp) r[7]);
                p.setBytes(9, (byte[]) r[8]);
                p.addBatch();
                if (i % 500 == 499) {
                    p.executeBatch();
                }
            }
            p.executeBatch();
        }
        c.commit();
        c.setAutoCommit(true);
    }

    private static void read(Connection c, String table) throws SQLException {
        DateTimeFormatter form = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss.SSSSSS");
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT * FROM " + table + " ORDER BY id")) {
            while (r.next()) {
                int i = r.getInt(2);
                String shown = r.wasNull() ? "NULL" : Integer.toString(i);
                System.out.println(String.join("|", Long.toString(r.getLong(1)), shown, Double.toString(r.getDouble(3)), r.getBoolean(4) ? "1" : "0", r.getString(5), r.getString(6),
                    r.getBigDecimal(7).toPlainString(), r.getObject(8, LocalDateTime.class).format(form), HexFormat.of().formatHex(r.getBytes(9))));
            }
        }
    }

    private static void test(Connection c) throws SQLException {
        try (Statement s = c.createStatement()) {
            List<Object> got = new ArrayList<>();
            boolean rows = s.execute("SELECT name FROM dbo.item ORDER BY id; UPDATE dbo.item SET price = price; SELECT 7");
            for (int n = rows ? 0 : s.getUpdateCount(); rows || n != -1; rows = s.getMoreResults(), n = rows ? 0 : s.getUpdateCount()) {
                if (!rows) {
                    got.add(n);
                    continue;
                }
                try (ResultSet r = s.getResultSet()) {
                    while (r.next()) {
                        got.add(r.getString(1));
                    }
                }
            }
            check("results", got, List.of("apple", "pear", "čerešňa", 3, "7"));
        }
        // The first use is sp_executesql, the second sp_prepexec, the others sp_execute.
        try (PreparedStatement p = c.prepareStatement("SELECT name, price FROM dbo.item WHERE id = ? AND name LIKE ?")) {
            for (int round = 0; round < 4; round++) {
                p.setInt(1, 3);
                p.setString(2, "č%");
                try (ResultSet r = p.executeQuery()) {
                    check("prepared", r.next() ? r.getString(1) + r.getBigDecimal(2) : "nothing", "čerešňa7.0000");
                }
            }
        }
        try (CallableStatement p = c.prepareCall("{? = call dbo.sum_of(?, ?, ?)}")) {
            p.registerOutParameter(1, Types.INTEGER);
            p.setInt(2, 20);
            p.setInt(3, 22);
            p.registerOutParameter(4, Types.INTEGER);
            p.execute();
            check("procedure", List.of(p.getInt(1), p.getInt(4)), List.of(7, 42));
        }
        c.setAutoCommit(false);
        try (Statement s = c.createStatement()) {
            s.executeUpdate("UPDATE dbo.item SET price = 99 WHERE id = 1");
            c.rollback();
            try (ResultSet r = s.executeQuery("SELECT price FROM dbo.item WHERE id = 1")) {
                r.next();
                check("rollback", r.getString(1), "1.2500");
            }
        }
        c.commit();
        c.setAutoCommit(true);
        try (Statement s = c.createStatement()) {
            s.executeQuery("SELECT * FROM dbo.nowhere");
            throw new SQLException("an unknown table was read");
        } catch (SQLException e) {
            check("error", e.getErrorCode(), 208);
        }
        try (Statement s = c.createStatement()) {
            s.setQueryTimeout(1);
            s.execute("WAITFOR DELAY '00:01:00'");
            throw new SQLException("a query timeout did nothing");
        } catch (java.sql.SQLTimeoutException e) {
            metadata(c.getMetaData()); // the connection goes on after its attention
        }
        System.out.println("all of mssql-jdbc passed");
    }

    private static void metadata(DatabaseMetaData m) throws SQLException {
        check("tables", column(m.getTables("testdb", "dbo", "item", new String[] {"TABLE"}), "TABLE_NAME"), List.of("item"));
        check("columns", column(m.getColumns("testdb", "dbo", "item", "%"), "COLUMN_NAME"), List.of("id", "name", "price"));
        check("types", column(m.getColumns("testdb", "dbo", "item", "%"), "TYPE_NAME"), List.of("int", "nvarchar", "money"));
        check("key", column(m.getPrimaryKeys("testdb", "dbo", "item"), "COLUMN_NAME"), List.of("id"));
        List<String> index = column(m.getIndexInfo("testdb", "dbo", "item", true, true), "COLUMN_NAME");
        check("index", index.contains("id"), true);
        check("schemas", column(m.getSchemas(), "TABLE_SCHEM").contains("dbo"), true);
        check("catalogs", column(m.getCatalogs(), "TABLE_CAT").contains("testdb"), true);
    }

    private static List<String> column(ResultSet r, String name) throws SQLException {
        List<String> out = new ArrayList<>();
        try (r) {
            while (r.next()) {
                out.add(r.getString(name));
            }
        }
        return out;
    }

    private static void check(String what, Object got, Object want) throws SQLException {
        if (!want.equals(got)) {
            throw new SQLException(what + ": got " + got + ", want " + want);
        }
    }
}
