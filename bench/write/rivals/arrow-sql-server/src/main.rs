//! Loads an Arrow IPC file with arrow-sql-server in one bulk load, and prints as one line of JSON what that cost.
//!
//! The options are those of every program that bench/write runs.

use std::error::Error;
use std::fs::{File, read_to_string};
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_ipc::reader::FileReader;
use arrow_sql_server::{
    BulkWriter, CompatibilityLevel, MssqlProfile, MssqlVersion, PlanOptions, TableName, WriteBackend, WriteOptions,
};
use tiberius::{AuthMethod, Client, Config, EncryptionLevel};
use tokio::net::TcpStream;
use tokio_util::compat::TokioAsyncWriteCompatExt;

type Fallible<T> = Result<T, Box<dyn Error>>;

#[derive(Default)]
struct Options {
    addr: String,
    user: String,
    password: String,
    database: String,
    table: String,
    file: String,
    packet: u32,
    stream: bool,
}

fn options() -> Fallible<Options> {
    let mut o = Options { packet: 4096, ..Options::default() };
    for arg in std::env::args().skip(1) {
        let (name, value) = arg.split_once('=').ok_or_else(|| format!("{arg} is not -name=value"))?;
        let value = value.to_owned();
        match name {
            "-addr" => o.addr = value,
            "-user" => o.user = value,
            "-password" => o.password = value,
            "-database" => o.database = value,
            "-table" => o.table = value,
            "-file" => o.file = value,
            "-packet" => o.packet = value.parse()?,
            "-stream" => o.stream = value == "true",
            _ => return Err(format!("option {name} is not known").into()),
        }
    }
    Ok(o)
}

/// Processor time of this process, of its own and of the kernel for it.
fn cpu() -> (Duration, Duration) {
    let mut r: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut r) };
    let of = |t: libc::timeval| Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64);
    (of(r.ru_utime), of(r.ru_stime))
}

fn peak_rss() -> u64 {
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) << 10
}

async fn connect(o: &Options) -> Fallible<Client<tokio_util::compat::Compat<TcpStream>>> {
    let (host, port) = o.addr.rsplit_once(':').ok_or("-addr is not host:port")?;
    let mut config = Config::new();
    config.host(host);
    config.port(port.parse()?);
    config.database(&o.database);
    config.authentication(AuthMethod::sql_server(&o.user, &o.password));
    config.encryption(EncryptionLevel::NotSupported);
    config.packet_size(o.packet);
    config.trust_cert();
    let socket = TcpStream::connect(&o.addr).await?;
    socket.set_nodelay(true)?;
    Ok(Client::connect(config, socket.compat_write()).await?)
}

async fn run() -> Fallible<()> {
    let o = options()?;
    let mut file = FileReader::try_new(File::open(&o.file)?, None)?;
    let schema = file.schema();
    let preloaded: Vec<RecordBatch> = if o.stream { vec![] } else { file.by_ref().collect::<Result<_, _>>()? };

    let profile = MssqlProfile::new(MssqlVersion::SqlServer2022, CompatibilityLevel::SQL_SERVER_2022)?;
    let plan = profile.plan_arrow_schema(schema.as_ref(), PlanOptions::default())?.into_value();
    let table = TableName::new("dbo", o.table.clone())?;
    let mut client = connect(&o).await?;

    let (start, (user, sys)) = (Instant::now(), cpu());
    let options = WriteOptions { backend: WriteBackend::DirectRawBulk, ..WriteOptions::default() };
    let mut writer = BulkWriter::new(&mut client, table, plan, options).await?;
    for batch in &preloaded {
        writer.write_batch(batch).await?;
    }
    for batch in file {
        writer.write_batch(&batch?).await?;
    }
    let stats = writer.finish().await?;
    let wall = start.elapsed();
    let (user_after, sys_after) = cpu();
    println!(
        "{{\"rows\":{},\"wall_ns\":{},\"user_ns\":{},\"sys_ns\":{},\"peak_rss\":{}}}",
        stats.rows_written,
        wall.as_nanos(),
        (user_after - user).as_nanos(),
        (sys_after - sys).as_nanos(),
        peak_rss()
    );
    Ok(())
}

fn main() -> Fallible<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run())
}
