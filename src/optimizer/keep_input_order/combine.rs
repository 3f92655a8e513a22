//! The order of rows that come from several inputs: joins and `UNION ALL`.

use super::Walk;
use super::carried::{Carried, Key, Order, column, with_columns};
use super::position;
use arrow::datatypes::Field;
use datafusion::common::JoinType;
use datafusion::error::Result;
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::{Expr, ExprFunctionExt, Join, LogicalPlan, Projection, Union, Window, lit};
use std::sync::Arc;

impl Walk<'_> {
    /// Left rows in their order; the matches of each in theirs; last, right rows without a partner.
    pub(super) fn join(&self, join: Join) -> Result<Carried> {
        let mut left = self.visit(Arc::unwrap_or_clone(join.left))?;
        if matches!(join.join_type, JoinType::Right | JoinType::Full) && left.order.is_some() {
            // A position is never null but where there is no partner, and nulls come last.
            left = self.numbered(left)?;
        }
        let right = self.visit(Arc::unwrap_or_clone(join.right))?;
        let n_left = left.plan.schema().fields().len();
        let left_keys = left.order.map(|order| order.keys);
        let right_keys = right.order.map(|order| order.keys);
        let keys = match join.join_type {
            JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => left_keys,
            JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => right_keys,
            // An unknown order of the right side leaves only the matches of one left row undefined.
            JoinType::Inner | JoinType::Left => left_keys.map(|mut keys| {
                let right = right_keys.unwrap_or_default();
                keys.extend(right.into_iter().map(|key| Key { index: key.index + n_left, ..key }));
                keys
            }),
            JoinType::Right | JoinType::Full => left_keys.zip(right_keys).map(|(mut keys, right)| {
                keys.extend(right.into_iter().map(|key| Key { index: key.index + n_left, ..key }));
                keys
            }),
        };
        let join = Join::try_new(
            Arc::new(left.plan),
            Arc::new(right.plan),
            join.on,
            join.filter,
            join.join_type,
            join.join_constraint,
            join.null_equality,
            join.null_aware,
        )?;
        Ok(Carried { plan: LogicalPlan::Join(join), order: keys.map(Order::of) })
    }

    /// Branch after branch: positions of each start where those of the branch before end.
    pub(super) fn union(&self, union: Union) -> Result<Carried> {
        let mut branches = vec![];
        for input in union.inputs {
            let schema = Arc::clone(input.schema());
            branches.push((self.visit(Arc::unwrap_or_clone(input))?, schema));
        }
        if branches.iter().any(|(branch, _)| branch.order.is_none()) {
            let inputs = branches.into_iter().map(|(branch, schema)| Ok(Arc::new(branch.strip(&schema)?)));
            let inputs = inputs.collect::<Result<_>>()?;
            return Ok(Carried::unknown(LogicalPlan::Union(Union { inputs, schema: union.schema })));
        }
        let name = self.name();
        let mut n_spans = 0;
        let mut inputs = vec![];
        for (branch, visible) in branches {
            let (plan, position, branch_spans) = self.position(branch)?;
            let position = position::after(position, n_spans).alias(&name);
            // Under the union's names: DataFusion looks for them in the one branch that is left when others are empty.
            let exprs = visible.columns().into_iter().zip(union.schema.columns()).map(|(column, wanted)| {
                let is_named_so = column == wanted;
                let column = Expr::Column(column);
                if is_named_so { column } else { column.alias_qualified(wanted.relation, wanted.name) }
            });
            let exprs = exprs.chain([position]).collect();
            inputs.push(Arc::new(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(plan))?)));
            n_spans += branch_spans;
        }
        let n_columns = union.schema.fields().len();
        let position = Arc::new(Field::new(name, position::POSITION, true));
        let schema = with_columns(&union.schema, vec![(None, position)])?;
        let plan = LogicalPlan::Union(Union { inputs, schema });
        Ok(Carried::known(plan, Order::of(vec![Key::ascending(n_columns)]).of_positions(n_spans)))
    }

    /// The plan with its order in one column, a position.
    fn numbered(&self, plan: Carried) -> Result<Carried> {
        if let Some(Order { keys, spans: Some(_), .. }) = &plan.order
            && keys.len() == 1
        {
            return Ok(plan);
        }
        let schema = Arc::clone(plan.plan.schema());
        let (plan, position, spans) = self.position(plan)?;
        let mut exprs: Vec<Expr> = schema.columns().into_iter().map(Expr::Column).collect();
        exprs.push(position.alias(self.name()));
        let order = Order::of(vec![Key::ascending(exprs.len() - 1)]).of_positions(spans);
        Ok(Carried::known(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(plan))?), order))
    }

    /// The plan, the position of each of its rows, and how many times 2⁶⁴ bounds it.
    pub(super) fn position(&self, branch: Carried) -> Result<(LogicalPlan, Expr, u64)> {
        let order = branch.order.unwrap_or_else(|| Order::of(vec![]));
        match (order.keys.as_slice(), order.spans) {
            ([], _) => Ok((branch.plan, lit(0_u64), 1)),
            ([key], Some(spans)) => {
                let position = column(branch.plan.schema(), key.index);
                Ok((branch.plan, position, spans))
            }
            (keys, _) => {
                let keys = keys.iter().map(|key| key.sort_expr(branch.plan.schema())).collect();
                let number = row_number().order_by(keys).build()?.alias(self.name());
                let plan = LogicalPlan::Window(Window::try_new(vec![number], Arc::new(branch.plan))?);
                let position = column(plan.schema(), plan.schema().fields().len() - 1);
                Ok((plan, position, 1))
            }
        }
    }
}
