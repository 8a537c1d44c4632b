# The public names, as in `rdmacc/__init__.pyi`.

from rdmacc.models.alpha_beta import AlphaBeta as AlphaBeta
from rdmacc.models.base import Model as Model
from rdmacc.models.dasr import DasrConvergence as DasrConvergence, DasrIncast as DasrIncast
from rdmacc.models.dcqcn import DcqcnFluid as DcqcnFluid
from rdmacc.models.dcqcn_stability import DcqcnLoop as DcqcnLoop, DcqcnMargin as DcqcnMargin
from rdmacc.models.fair_share import FairShare as FairShare
from rdmacc.models.go_back_n import GoBackNGoodput as GoBackNGoodput
from rdmacc.models.hpcc import HpccSteady as HpccSteady
from rdmacc.models.ideal import ProcessorSharing as ProcessorSharing
from rdmacc.models.max_min import MaxMin as MaxMin
from rdmacc.models.rcc import RccFluid as RccFluid
from rdmacc.models.rcc_stability import RccLoop as RccLoop, RccMarginSurface as RccMarginSurface, tune as tune
from rdmacc.models.rcp import RcpFluid as RcpFluid
from rdmacc.models.ren_figures import RenQueue as RenQueue, RenRate as RenRate, RenUtilisation as RenUtilisation
from rdmacc.models.timely import PatchedTimelyFluid as PatchedTimelyFluid, TimelyFluid as TimelyFluid
