//! tiberius: "test", "load TABLE COUNT" by its bulk insert, or "read TABLE".
use anyhow::{bail, ensure, Context, Result};
use futures_util::TryStreamExt;
use std::{env, time::Duration};
use tiberius::time::chrono::{NaiveDate, NaiveDateTime};
use tiberius::{numeric::Numeric, AuthMethod, Client, ColumnData, Config, EncryptionLevel, QueryItem, ToSql, TokenRow};
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};

type Connection = Client<Compat<TcpStream>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    let mut c = connect().await?;
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["test"] => test(&mut c).await?,
        ["load", table, count] => load(&mut c, table.to_string(), count.parse()?).await?,
        ["read", table] => read(&mut c, table).await?,
        _ => bail!("test, load TABLE COUNT, read TABLE"),
    }
    c.close().await.context("closing")
}

async fn connect() -> Result<Connection> {
    let mut o = Config::new();
    o.host("localhost");
    o.port(env::var("STANDIN_PORT")?.parse()?);
    o.database("testdb");
    o.authentication(AuthMethod::sql_server("sa", env::var("STANDIN_PASSWORD")?));
    if env::var("STANDIN_TLS")? == "yes" {
        o.encryption(EncryptionLevel::Required);
        o.trust_cert_ca(env::var("STANDIN_CA")?);
    } else {
        o.encryption(EncryptionLevel::NotSupported);
    }
    let tcp = TcpStream::connect(("127.0.0.1", env::var("STANDIN_PORT")?.parse::<u16>()?)).await?;
    tcp.set_nodelay(true)?;
    Ok(Client::connect(o, tcp.compat_write()).await?)
}

fn at(i: i64) -> NaiveDateTime {
    let start = NaiveDate::from_ymd_opt(2024, 2, 29).unwrap().and_hms_opt(0, 0, 0).unwrap();
    start + Duration::from_micros((i * 1000 + i * 7 % 1000) as u64 * 1000 + 456)
}

async fn load(c: &mut Connection, table: String, count: i64) -> Result<()> {
    let table: &'static str = table.leak();
    let mut bulk = c.bulk_insert(table).await?;
    for i in 0..count {
        let sign = if i % 2 == 0 { 1 } else { -1 };
        let ts = at(i);
        let mut bin = vec![0u8, 255];
        bin.extend_from_slice(i.to_string().as_bytes());
        let mut row = TokenRow::new();
        row.push(ColumnData::I64(Some(5_000_000_000 + i)));
        row.push(ColumnData::I32(if i % 7 == 0 { None } else { Some(-i as i32) }));
        row.push(ColumnData::F64(Some(i as f64 / 2.0)));
        row.push(ColumnData::Bit(Some(i % 2 == 0)));
        row.push(ColumnData::String(Some(format!("ü名😀-{i}").into())));
        row.push(ColumnData::String(Some(format!("é€-{i}").into())));
        row.push(ColumnData::Numeric(Some(Numeric::new_with_scale(i128::from(i) * 2501 * sign, 4))));
        row.push(match ts.to_sql() {
            ColumnData::DateTime2(v) => ColumnData::DateTime2(v),
            other => bail!("a time is {other:?}"),
        });
        row.push(ColumnData::Binary(Some(bin.into())));
        bulk.send(row).await?;
    }
    let done = bulk.finalize().await?.total();
    ensure!(done == count as u64, "{done} rows of {count} are acknowledged");
    Ok(())
}

async fn read(c: &mut Connection, table: &str) -> Result<()> {
    let mut rows = c.simple_query(format!("SELECT * FROM {table} ORDER BY id")).await?;
    while let Some(item) = rows.try_next().await? {
        let QueryItem::Row(r) = item else { continue };
        let i = r.get::<i32, _>(1).map_or("NULL".to_string(), |i| i.to_string());
        let hex: String = r.get::<&[u8], _>(8).context("bin")?.iter().map(|b| format!("{b:02x}")).collect();
        println!(
            "{}|{i}|{:.1}|{}|{}|{}|{}|{}|{hex}",
            r.get::<i64, _>(0).context("id")?, r.get::<f64, _>(2).context("f")?, u8::from(r.get::<bool, _>(3).context("b")?), r.get::<&str, _>(4).context("s")?,
            r.get::<&str, _>(5).context("v")?, r.get::<tiberius::numeric::Decimal, _>(6).context("n")?, r.get::<NaiveDateTime, _>(7).context("ts")?
        );
    }
    Ok(())
}

async fn test(c: &mut Connection) -> Result<()> {
    let r = c.query("SELECT @P1, @P2, @P3", &[&"naïve 名", &42i32, &Option::<i32>::None]).await?.into_row().await?.context("no row")?;
    ensure!(r.get::<&str, _>(0) == Some("naïve 名") && r.get::<i32, _>(1) == Some(42) && r.get::<i32, _>(2).is_none(), "parameters came back as {r:?}");
    let sets = c.simple_query("SELECT name FROM dbo.item ORDER BY id; SELECT 7").await?.into_results().await?;
    ensure!(sets.len() == 2 && sets[0].len() == 3 && sets[0][2].get::<&str, _>(0) == Some("čerešňa") && sets[1][0].get::<i32, _>(0) == Some(7), "sets {sets:?}");
    ensure!(c.execute("UPDATE dbo.item SET price = price WHERE id < @P1", &[&3i32]).await?.total() == 2, "not two rows");
    let unknown = match c.simple_query("SELECT * FROM dbo.nowhere").await {
        Ok(sets) => sets.into_results().await.map(|_| ()),
        Err(e) => Err(e),
    };
    match unknown {
        Err(tiberius::error::Error::Server(e)) if e.code() == 208 => {}
        other => bail!("an unknown table gave {other:?}"),
    }
    println!("all of tiberius passed");
    Ok(())
}
