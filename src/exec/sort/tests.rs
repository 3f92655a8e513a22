//! Rows in order, with much memory and with little.

#![allow(clippy::unwrap_used)]

use super::*;
use arrow::array::{Array, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::prelude::{SessionConfig, SessionContext};

/// Rows in an order of their own, in batches of some rows each: a key with ties and nulls, and a text.
fn partition(seed: u64, n_rows: usize, text_bytes: usize) -> Vec<RecordBatch> {
    let schema =
        Arc::new(Schema::new(vec![Field::new("key", DataType::Int64, true), Field::new("text", DataType::Utf8, true)]));
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as i64
    };
    let mut batches = vec![];
    for _ in 0..n_rows.div_ceil(50) {
        let keys: Int64Array = (0..50).map(|_| Some(next() % 300).filter(|key| key % 7 > 0)).collect();
        let texts: StringArray = (0..50).map(|_| Some(format!("{:x>1$}", next(), text_bytes))).collect();
        batches.push(RecordBatch::try_new(schema.clone(), vec![Arc::new(keys), Arc::new(texts)]).unwrap());
    }
    batches
}

/// The key and the text of a row.
type Row = (Option<i64>, String);

fn key(name: &str, index: usize, descending: bool) -> PhysicalSortExpr {
    PhysicalSortExpr::new(Arc::new(Column::new(name, index)), SortOptions::new(descending, true))
}

/// Runs a sort with so much memory; the rows, the batches' sizes, and how often it spilled.
fn sorted(
    partitions: &[Vec<RecordBatch>],
    keys: Vec<PhysicalSortExpr>,
    memory_bytes: usize,
) -> (Vec<Row>, Vec<usize>, usize) {
    let schema = partitions[0][0].schema();
    let source = MemorySourceConfig::try_new_exec(partitions, schema, None).unwrap();
    let order = LexOrdering::new(keys).unwrap();
    let sort: Arc<dyn ExecutionPlan> =
        Arc::new(ExternalSortExec::try_new(source, order, Sorting::IntoOne, 20_000).unwrap().unwrap());
    let pool = Arc::new(FairSpillPool::new(memory_bytes));
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool).build_arc().unwrap();
    let config = SessionConfig::new().with_target_partitions(2);
    let context = SessionContext::new_with_config_rt(config, runtime);
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let batches = tokio.block_on(datafusion::physical_plan::collect(Arc::clone(&sort), context.task_ctx())).unwrap();
    let mut rows = vec![];
    for batch in &batches {
        let (keys, texts) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_string::<i32>());
        let key = |row: usize| keys.is_valid(row).then(|| keys.value(row));
        rows.extend((0..batch.num_rows()).map(|row| (key(row), texts.value(row).to_string())));
    }
    let sizes = batches.iter().map(|batch| batch.column(1).as_string::<i32>().values().len()).collect();
    assert_eq!(context.runtime_env().memory_pool.reserved(), 0, "all memory is given back");
    (rows, sizes, sort.metrics().unwrap().spill_count().unwrap_or(0))
}

#[test]
fn rows_beyond_memory_come_in_the_order_of_rows_in_memory() {
    let partitions = [partition(1, 3000, 200), partition(2, 1000, 200), partition(3, 50, 200)];
    let keys = || vec![key("key", 0, true), key("text", 1, false)];
    let (all, sizes, n_spills) = sorted(&partitions, keys(), 1 << 30);
    assert_eq!((all.len(), n_spills), (4050, 0));
    assert!(sizes.iter().all(|bytes| *bytes <= 20_000), "{sizes:?}");
    let mut expected = all.clone();
    expected.sort_by(|a, b| match (a.0, b.0) {
        (Some(x), Some(y)) => y.cmp(&x).then_with(|| a.1.cmp(&b.1)),
        (None, None) => a.1.cmp(&b.1),
        // Nulls first.
        (x, y) => x.is_some().cmp(&y.is_some()),
    });
    assert!(all == expected);
    for memory_bytes in [800_000, 200_000, 20_000, 1] {
        let (beyond, sizes, n_spills) = sorted(&partitions, keys(), memory_bytes);
        assert!(beyond == all, "{memory_bytes}");
        assert!(n_spills > 0 && sizes.iter().all(|bytes| *bytes <= 20_000), "{memory_bytes}: {sizes:?}");
    }
}

#[test]
fn partitions_that_are_sorted_are_merged_as_if_they_were_sorted_together() {
    let partitions = [partition(1, 1000, 20), partition(2, 700, 20)];
    let keys = || vec![key("text", 1, false), key("key", 0, true)];
    let (expected, ..) = sorted(&partitions, keys(), 1 << 30);
    let source = MemorySourceConfig::try_new_exec(&partitions, partitions[0][0].schema(), None).unwrap();
    let order = LexOrdering::new(keys()).unwrap();
    let sort = |input, sorting| -> Arc<dyn ExecutionPlan> {
        Arc::new(ExternalSortExec::try_new(input, order.clone(), sorting, 20_000).unwrap().unwrap())
    };
    let plan = sort(sort(source, Sorting::EachPartition), Sorting::OfSorted);
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let batches = tokio.block_on(datafusion::physical_plan::collect(plan, SessionContext::new().task_ctx())).unwrap();
    let texts = batches.iter().flat_map(|batch| {
        batch.column(1).as_string::<i32>().iter().map(|text| text.unwrap().to_string()).collect::<Vec<_>>()
    });
    assert!(texts.eq(expected.into_iter().map(|row| row.1)));
}

#[test]
fn a_row_that_is_larger_than_all_memory_goes_through_alone() {
    let partitions = [partition(1, 100, 50_000), partition(2, 1000, 10)];
    let (rows, _, n_spills) = sorted(&partitions, vec![key("text", 1, false)], 100_000);
    assert!(rows.is_sorted_by(|a, b| a.1 <= b.1) && n_spills > 1);
    assert_eq!(rows.len(), 1100);
}
